package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mrtr-go/sdk/store"
)

// mark is a file beside the one of the records that holds the last revision. A file of records
// that is behind it was restored from a copy, and so was one that has none.
type mark struct {
	mu   sync.Mutex
	file *os.File
}

// openMark opens it, and makes it if there is none.
func openMark(path string) (*mark, error) {
	file, err := os.OpenFile(path+"-mark", os.O_CREATE|os.O_RDWR, 0o600)
	return &mark{file: file}, err
}

// read returns 0 for one that was just made, and otherwise the number after the revision.
func (m *mark) read() (uint64, error) {
	var b [8]byte
	if n, err := m.file.ReadAt(b[:], 0); err != nil && (!errors.Is(err, io.EOF) || n > 0) {
		return 0, err
	}
	return binary.BigEndian.Uint64(b[:]), nil
}

// allows reports whether records that are at a revision may be those it was beside.
func (m *mark) allows(at store.Revision) (bool, error) {
	after, err := m.read()
	return after != 0 && uint64(at)+1 >= after, err
}

// raise notes a revision that was committed. It is not synced: whoever restores a copy after a
// power cut restores one that is older than a moment.
func (m *mark) raise(at store.Revision) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	after, err := m.read()
	if err != nil || uint64(at) < after {
		return err
	}
	return m.set(at)
}

func (m *mark) set(at store.Revision) error {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(at)+1)
	_, err := m.file.WriteAt(b[:], 0)
	return err
}

// checkFile refuses to write to a file that is no longer the one at its path: whoever opens
// that would not see it.
func checkFile(path string, opened os.FileInfo) error {
	now, err := os.Stat(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("sqlitestore: %w", err)
	}
	if err != nil || !os.SameFile(now, opened) {
		return store.Misuse("sqlitestore: %s was replaced while it was in use: open it again", path)
	}
	return nil
}

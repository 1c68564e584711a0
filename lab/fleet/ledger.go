package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ledger is a file outside of all instances in which they note their effects: a line each,
// that is on disk when Enter returns.
type Ledger string

// NewLedger is an empty one, which goes with the test.
func NewLedger(t testing.TB) Ledger { return Ledger(filepath.Join(t.TempDir(), "payments")) }

// Enter notes an effect.
func (l Ledger) Enter(words ...string) error {
	file, err := os.OpenFile(string(l), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	//mrtr:allow bareeffect the ledger counts whatever comes
	_, err = fmt.Fprintln(file, strings.Join(words, " "))
	return errors.Join(err, file.Sync(), file.Close())
}

// Lines are the effects so far, each as its words.
func (l Ledger) Lines() (lines [][]string, err error) {
	text, err := os.ReadFile(string(l))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines, err
}

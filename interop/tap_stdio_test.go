package interop_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// stdioTap is the command line that a stdio client starts in the server's
// place, and the file where the relay notes each message.
type stdioTap struct {
	argv []string
	file string
	read int64
}

func newStdioTap(t *testing.T, server ...string) *stdioTap {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "wire")
	return &stdioTap{argv: append([]string{self, tapCommand, file}, server...), file: file}
}

// drain counts into w the messages that the relay noted since the last drain.
func (s *stdioTap) drain(t *testing.T, w *counter) {
	t.Helper()
	file, err := os.Open(s.file)
	require.NoError(t, err)
	defer file.Close()
	_, err = file.Seek(s.read, io.SeekStart)
	require.NoError(t, err)
	noted, err := io.ReadAll(file)
	require.NoError(t, err)
	s.read += int64(len(noted))
	for line := range bytes.Lines(noted) {
		if line[0] == '>' {
			w.fromClient(line[1:])
		} else {
			w.fromServer(line[1:])
		}
	}
}

// relayStdio runs the server between the client's pipes. It returns when the
// server has ended, which a server does once its stdin is closed.
func relayStdio(file string, server []string) error {
	notes, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer notes.Close()
	command := exec.Command(server[0], server[1:]...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	var mu sync.Mutex
	pass := func(mark byte, to io.Writer, from io.Reader) error {
		for lines := bufio.NewReader(from); ; {
			line, err := lines.ReadBytes('\n')
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			mu.Lock()
			_, noted := notes.Write(append([]byte{mark}, line...))
			mu.Unlock()
			if _, err := to.Write(line); err != nil || noted != nil {
				return errors.Join(err, noted)
			}
		}
	}
	// Nobody waits for this one: it reads the client's pipe, which may stay open
	// after the server has ended.
	go func() {
		defer stdin.Close()
		_ = pass('>', stdin, os.Stdin)
	}()
	return errors.Join(pass('<', os.Stdout, stdout), command.Wait())
}

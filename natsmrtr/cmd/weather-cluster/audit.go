package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// auditFile is the tool's effect: one line for each lookup, which begins with the
// idempotency key. It is shared by all instances, as a payment system would be.
type auditFile string

// record writes a line.
func (a auditFile) record(idem, place string) error {
	file, err := os.OpenFile(string(a), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s looked up %s\n", idem, place)
	return errors.Join(err, file.Sync(), file.Close())
}

// find reports whether there is a line with this key.
func (a auditFile) find(_ context.Context, idem string) (bool, error) {
	lines, err := a.lines()
	for _, line := range lines {
		if strings.HasPrefix(line, idem+" ") {
			return true, err
		}
	}
	return false, err
}

func (a auditFile) lines() ([]string, error) {
	text, err := os.ReadFile(string(a))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), err
}

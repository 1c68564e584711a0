//go:build unix && !(linux && amd64)

package fleet

import (
	"errors"
	"runtime"
	"time"
)

// Clock is the wall clock of a process, where one can be taken over.
type Clock struct{}

// Clock takes none over.
func (p *Process) Clock() (*Clock, error) {
	return nil, errors.New("no clock can be taken over on " + runtime.GOOS + "/" + runtime.GOARCH)
}

// Move moves none.
func (c *Clock) Move(time.Duration) error { return errors.ErrUnsupported }

package failure

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
)

// endsInDoubt are the errors after which the other side may have done its work.
var endsInDoubt = []error{
	context.DeadlineExceeded, context.Canceled,
	io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE,
}

// InDoubt reports whether an error of an effect leaves open whether the effect happened: its
// time ran out, it was cancelled, its connection ended after the request may have been sent,
// or the error says so itself, as indeterminate does, or a server's that lost the call. ctx is
// that of the effect.
func InDoubt(ctx context.Context, err, indeterminate error) bool {
	if known := (*notDone)(nil); errors.As(err, &known) {
		return false
	}
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return false // nothing was sent
	}
	var timeout interface{ Timeout() bool }
	var effect interface{ ToolErrorEffect() string }
	return ctx.Err() != nil || errors.Is(err, indeterminate) ||
		slices.ContainsFunc(endsInDoubt, func(end error) bool { return errors.Is(err, end) }) ||
		errors.As(err, &timeout) && timeout.Timeout() || callerror.LeavesOpen(err) ||
		errors.As(err, &effect) && effect.ToolErrorEffect() != "" && effect.ToolErrorEffect() != report.Undone
}

// NotDone marks an error after which the effect has not happened and will not.
func NotDone(err error) error {
	if err == nil {
		return nil
	}
	return &notDone{err}
}

type notDone struct{ error }

func (e *notDone) Unwrap() error { return e.error }

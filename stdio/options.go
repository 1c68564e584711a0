package stdio

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
)

// Options configure a transport. Nil, and the zero value, mean the defaults. Negative
// limits are an error.
type Options struct {
	// Reader and Writer take the place of the standard input and output of the process.
	// They are closed with the connection.
	Reader io.ReadCloser
	Writer io.WriteCloser
	// MaxMessageBytes is the size in bytes of the largest message that is read; 4 MiB if
	// zero.
	MaxMessageBytes int
	// MaxCalls bounds the calls in flight; 100 if zero. One more is answered with a
	// JSON-RPC error with the code -31000.
	MaxCalls int
	// Logger hears of lines that are no message. Nil is silent.
	Logger *slog.Logger
}

func (o *Options) resolve() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	if r.MaxMessageBytes < 0 || r.MaxCalls < 0 {
		return r, usage("a limit is negative")
	}
	if (r.Reader == nil) != (r.Writer == nil) {
		return r, usage("Options need both, Reader and Writer, or none")
	}
	if r.Reader == nil {
		r.Reader, r.Writer = os.Stdin, unclosed{os.Stdout}
	}
	r.MaxMessageBytes = cmp.Or(r.MaxMessageBytes, 4<<20)
	r.MaxCalls = cmp.Or(r.MaxCalls, 100)
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	return r, nil
}

// unclosed is a writer that outlives its connection: the process may print more.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// UsageError is a mistake in the options of this package or in the way it is called.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return "stdio: " + e.err.Error() }

// Unwrap gives the cause, where there is one.
func (e *UsageError) Unwrap() error { return e.err }

func usage(format string, args ...any) *UsageError {
	return &UsageError{fmt.Errorf(format, args...)}
}

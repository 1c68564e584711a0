package stdio

import (
	"cmp"
	"io"
	"log/slog"
	"os"

	"github.com/mrtr-go/sdk/internal/usage"
)

// Options configure a transport. Nil, and the zero value, mean the defaults. Negative
// limits are an error.
type Options struct {
	// Reader and Writer take the place of the standard input and output of the process.
	// They are closed with the connection.
	Reader io.ReadCloser
	Writer io.WriteCloser
	// MaxMessageBytes bounds a message of the client's; 4 MiB if zero.
	MaxMessageBytes int
	// MaxCalls bounds the calls in flight; 100 if zero. One more is answered with a
	// JSON-RPC error with the code -31000. A call is in flight until its handler has
	// returned, whether or not it was cancelled.
	MaxCalls int
	// Logger hears of lines that are no message. Nil is silent.
	Logger *slog.Logger
}

func (o *Options) resolve() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	if (r.Reader == nil) != (r.Writer == nil) {
		return r, usage.New("stdio", "Options need both, Reader and Writer, or none")
	}
	if r.Reader == nil {
		r.Reader, r.Writer = os.Stdin, unclosed{os.Stdout}
	}
	u := usage.Of("stdio", "Options")
	usage.Default(u, "MaxMessageBytes", &r.MaxMessageBytes, 4<<20)
	usage.Default(u, "MaxCalls", &r.MaxCalls, 100)
	r.Logger = cmp.Or(r.Logger, slog.New(slog.DiscardHandler))
	return r, u.Err()
}

// unclosed is a writer that outlives its connection: the process may print more.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// UsageError is a mistake in the options of this package or in the way it is called.
type UsageError = usage.Error

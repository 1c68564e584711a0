// Package stdio carries the Model Context Protocol over the standard input and output
// of a server, as a transport of go-sdk:
//
//	transport, err := stdio.New(nil)
//	err = server.Run(ctx, transport)
//
// go-sdk's own transport ends with every call in flight on the first line that is no
// message, answers a call that reuses an id in flight without any id, and rounds ids
// beyond 2^53. This one keeps the connection:
//
//   - A line that is not one JSON-RPC message gets an error without an id: -32700 if
//     it is not JSON, -32600 if it is another value, a batch, or longer than
//     Options.MaxMessageBytes. If the line was meant as a call, that call gets no
//     other answer, because its id cannot be read. All other calls go on.
//   - A call that is in flight and arrives again gets the answer too, and runs once. In a legacy
//     session it does so for ten seconds after the answer.
//   - Another call under an id that is in flight, or one beyond Options.MaxCalls, gets an error
//     and no handler. So does a call whose answers contain a duplicate member.
//   - A response has the id exactly as the call wrote it, however many digits.
//
// Both eras of the protocol work. A connection is one session, and ends with the input.
package stdio

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// New returns the server's transport, for one session. The error is a [*UsageError]
// about the options.
func New(opts *Options) (mcp.Transport, error) {
	o, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	return &transport{options: o}, nil
}

type transport struct {
	options Options
	used    atomic.Bool
}

// Connect implements [mcp.Transport].
func (t *transport) Connect(context.Context) (mcp.Connection, error) {
	if t.used.Swap(true) {
		return nil, usage.New("stdio", "a transport serves one session")
	}
	c := &conn{options: t.options, incoming: make(chan line), closed: make(chan struct{})}
	c.link.FromClient, c.link.Most = true, t.options.MaxCalls
	go c.readLines()
	return c, nil
}

// conn is the [mcp.Connection] over a reader and a writer.
type conn struct {
	options  Options
	incoming chan line
	link     inflight.Link
	writing  sync.Mutex // held while writing a message

	closing  sync.Once
	closed   chan struct{}
	closeErr error // set in closing
}

// SessionID implements [mcp.Connection].
func (c *conn) SessionID() string { return "" }

// Read implements [mcp.Connection]. It returns [io.EOF] at the end of the input.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var l line
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l = <-c.incoming:
		}
		if l.err != nil {
			return nil, l.err
		}
		msg, answer := c.receive(l)
		if answer != nil {
			if err := c.Write(ctx, answer); err != nil {
				return nil, err
			}
		}
		if msg != nil {
			return msg, nil
		}
	}
}

// receive returns the message of a line, or an answer for the client in its place, or
// neither, as [inflight.Link.Receive] does.
func (c *conn) receive(l line) (jsonrpc.Message, *jsonrpc.Response) {
	fault := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest}
	if l.length > c.options.MaxMessageBytes {
		fault.Message = fmt.Sprintf("a message may have %d bytes", c.options.MaxMessageBytes)
	} else {
		msg, answer, err := c.link.Receive(l.text)
		if err == nil {
			return msg, answer
		}
		fault.Message = "a line is not one JSON-RPC message"
		if errors.Is(err, message.ErrNotJSON) {
			fault.Code, fault.Message = jsonrpc.CodeParseError, "a line is not JSON"
		}
	}
	c.options.Logger.Warn("a line is no message", "bytes", l.length, "reason", fault.Message)
	return nil, inflight.Refused(jsonrpc.ID{}, fault)
}

// Write implements [mcp.Connection].
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.link.Unpingable(msg) {
		return message.ErrUnpingable
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	text, err := c.link.Encode(msg)
	if err != nil {
		return err
	}
	times, _ := c.link.Settle(msg)
	for range times {
		if _, err := c.options.Writer.Write(append(text, '\n')); err != nil {
			return fmt.Errorf("%w: %w", mcp.ErrConnectionClosed, err)
		}
	}
	return nil
}

// Close implements [mcp.Connection]. A read of the input that nothing can interrupt
// may stay behind, until the input ends.
func (c *conn) Close() error {
	c.closing.Do(func() {
		close(c.closed)
		c.closeErr = errors.Join(c.options.Reader.Close(), c.options.Writer.Close())
	})
	return c.closeErr
}

// line is one line of the input, without its end.
type line struct {
	text   []byte // nil if it is longer than a message may be
	length int
	err    error // the end of the input
}

// readLines reads the input until its end. It is a goroutine of its own because a read
// of the standard input cannot be interrupted.
func (c *conn) readLines() {
	in := bufio.NewReaderSize(c.options.Reader, 64<<10)
	for {
		l := readLine(in, c.options.MaxMessageBytes)
		if l.length <= c.options.MaxMessageBytes && len(bytes.TrimSpace(l.text)) == 0 && l.err == nil {
			continue
		}
		select {
		case c.incoming <- l:
		case <-c.closed:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// readLine reads to the end of a line and keeps up to limit bytes of it. The last line
// needs no end.
func readLine(in *bufio.Reader, limit int) line {
	var l line
	for {
		part, err := in.ReadSlice('\n')
		part, ended := bytes.CutSuffix(part, []byte("\n"))
		if l.length += len(part); l.length <= limit {
			l.text = append(l.text, part...)
		} else {
			l.text = nil
		}
		switch {
		case ended || err == io.EOF && len(bytes.TrimSpace(l.text)) > 0:
			return l
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			l.err = err
			return l
		}
	}
}

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

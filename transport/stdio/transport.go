package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
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

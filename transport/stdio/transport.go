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
	c.calls.Most = t.options.MaxCalls
	go c.readLines()
	return c, nil
}

// conn is the [mcp.Connection] over a reader and a writer.
type conn struct {
	options  Options
	incoming chan line
	largeIDs atomic.Bool // one was received
	pinged   atomic.Bool // the client initialized, and answers pings

	calls         inflight.Calls
	subscriptions inflight.Subscriptions

	writing sync.Mutex // held while writing a message
	buffer  []byte     // guarded by writing

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
		if l.err != nil && !errors.Is(l.err, errTooLong) {
			return nil, l.err
		}
		msg, refusal := c.decode(l)
		if refusal != nil {
			if err := c.Write(ctx, refusal); err != nil {
				return nil, err
			}
			continue
		}
		if msg != nil {
			return msg, nil
		}
	}
}

// decode returns the message of a line, or the refusal for the client, or neither: a
// notification has no answer, and a call that is in flight gets that of the first.
func (c *conn) decode(l line) (jsonrpc.Message, *jsonrpc.Response) {
	refused := message.Refusal(l.text)
	msg, fault := readMessage(l, c.options.MaxMessageBytes)
	if fault != nil {
		c.options.Logger.Warn("a line is no message", "bytes", l.length, "reason", fault.Message)
		return nil, inflight.Refused(jsonrpc.ID{}, fault)
	}
	if message.HasLarge(msg) {
		c.largeIDs.Store(true)
	}
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		if refused != nil { // the question has to end
			return &jsonrpc.Response{ID: msg.ID, Error: refused}, nil
		}
	case *jsonrpc.Request:
		switch {
		case refused != nil && msg.IsCall():
			return nil, inflight.Refused(msg.ID, refused)
		case refused != nil: // a notification has no answer
			c.options.Logger.Warn("a notification is refused", "bytes", l.length, "reason", refused.Message)
			return nil, nil
		case !msg.IsCall() && c.calls.Late(msg):
			return nil, nil
		case !msg.IsCall():
			return msg, nil
		case msg.Method == "initialize":
			c.pinged.Store(true)
		}
		if why := c.subscriptions.Note(msg.Method, msg.Params); why != nil {
			return nil, inflight.Refused(msg.ID, why)
		}
		switch again, why := c.calls.Begin(msg); {
		case why != nil:
			return nil, inflight.Refused(msg.ID, why)
		case again:
			return nil, nil
		}
	}
	return msg, nil
}

// Write implements [mcp.Connection].
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if message.IsPing(msg) && !c.pinged.Load() {
		return message.ErrUnpingable
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	data, err := message.Append(c.buffer[:0], msg)
	if err != nil {
		return err
	}
	if c.largeIDs.Load() {
		data = message.RestoreLarge(data)
	}
	if cap(data) <= keptBuffer {
		c.buffer = data
	}
	again := 0
	if answer, ok := msg.(*jsonrpc.Response); ok && !inflight.IsRefusal(answer) {
		_, again = c.calls.Settle(answer.ID) // its id is free as soon as it is read
	}
	for range 1 + again {
		if _, err := c.options.Writer.Write(append(data, '\n')); err != nil {
			return fmt.Errorf("%w: %w", mcp.ErrConnectionClosed, err)
		}
	}
	return nil
}

// keptBuffer is the largest buffer that outlives its message.
const keptBuffer = 64 << 10

// Close implements [mcp.Connection]. A read of the input that nothing can interrupt
// may stay behind, until the input ends.
func (c *conn) Close() error {
	c.closing.Do(func() {
		close(c.closed)
		c.closeErr = errors.Join(c.options.Reader.Close(), c.options.Writer.Close())
	})
	return c.closeErr
}

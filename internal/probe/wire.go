package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Wire carries raw requests to one server.
type Wire interface {
	// Exchange sends the request and returns the answer to it. The error is that
	// of ctx, or says that the connection is gone.
	Exchange(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error)

	// Notify sends a notification.
	Notify(ctx context.Context, req *jsonrpc.Request) error

	// Surplus is the number of answers so far that no request was waiting for:
	// second answers, and answers that came after the wait was over.
	Surplus() int

	Close() error
}

// Dial reaches the server that target names: a streamable HTTP endpoint if it is
// a URL, else a command that speaks over stdio.
func Dial(ctx context.Context, target string) (Wire, error) {
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		return NewHTTPWire(target, nil), nil
	}
	fields := strings.Fields(target)
	if len(fields) == 0 {
		return nil, errors.New("probe: nothing to probe: give a URL or a command")
	}
	return NewWire(ctx, &mcp.CommandTransport{Command: exec.Command(fields[0], fields[1:]...)})
}

// NewWire connects over any transport with one connection: stdio, a pipe, a
// WebSocket.
func NewWire(ctx context.Context, t mcp.Transport) (Wire, error) {
	conn, err := t.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	reading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &connWire{conn: conn, cancel: cancel, waiting: map[any]chan *jsonrpc.Response{}, gone: make(chan struct{})}
	go w.read(reading)
	return w, nil
}

type connWire struct {
	conn   mcp.Connection
	cancel context.CancelFunc
	gone   chan struct{}

	mu      sync.Mutex
	waiting map[any]chan *jsonrpc.Response
	surplus int
}

func (w *connWire) read(ctx context.Context) {
	defer close(w.gone)
	for {
		msg, err := w.conn.Read(ctx)
		if err != nil {
			return
		}
		switch msg := msg.(type) {
		case *jsonrpc.Response:
			w.deliver(msg)
		case *jsonrpc.Request:
			if msg.IsCall() { // the server asks this client, which can do nothing
				_ = w.conn.Write(ctx, &jsonrpc.Response{ID: msg.ID, Error: errNoMethods})
			}
		}
	}
}

var errNoMethods = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client only asks"}

func (w *connWire) deliver(res *jsonrpc.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ch := w.waiting[res.ID.Raw()]
	if ch == nil {
		w.surplus++
		return
	}
	delete(w.waiting, res.ID.Raw())
	ch <- res
}

func (w *connWire) Exchange(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	ch := make(chan *jsonrpc.Response, 1)
	w.mu.Lock()
	w.waiting[req.ID.Raw()] = ch
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.waiting, req.ID.Raw())
		w.mu.Unlock()
	}()
	if err := w.conn.Write(ctx, req); err != nil {
		return nil, fmt.Errorf("the connection is gone: %w", err)
	}
	select {
	case res := <-ch:
		return res, nil
	case <-w.gone:
		return nil, errors.New("the connection is gone")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *connWire) Notify(ctx context.Context, req *jsonrpc.Request) error {
	return w.conn.Write(ctx, req)
}

func (w *connWire) Surplus() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.surplus
}

func (w *connWire) Close() error {
	w.cancel()
	return w.conn.Close()
}

func rawParams(params any) json.RawMessage {
	data, err := json.Marshal(params)
	if err != nil {
		panic(err) // every caller is in this package and sends plain maps
	}
	return data
}

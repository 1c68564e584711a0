// Package sessionask asks over the session, where it may and where it may not.
package sessionask

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

type (
	request = *mcp.CallToolRequest
	result  = *mcp.CallToolResult
)

func register(s *mcp.Server, rt *mrtr.Runtime, desk *desk) {
	s.AddTool(&mcp.Tool{}, elicits)
	s.AddTool(&mcp.Tool{}, desk.samples)
	s.AddTool(&mcp.Tool{}, made("Who?"))
	s.AddTool(&mcp.Tool{}, sse.BridgeTool(bridged, nil))
	mcp.AddTool(s, &mcp.Tool{}, typed)
	mcp.AddTool(s, &mcp.Tool{}, func(ctx context.Context, req request, _ struct{}) (result, any, error) {
		_, err := askThem(ctx, req.Session)
		return nil, nil, err
	})
	s.AddPrompt(&mcp.Prompt{}, prompt)
	s.AddResource(&mcp.Resource{}, resource)
	s.AddResourceTemplate(&mcp.ResourceTemplate{}, resource)
	mcp.AddTool(s, &mcp.Tool{}, mrtr.Tool(rt, mrtr.Native(overSession), nil))
	mcp.AddTool(s, &mcp.Tool{}, mrtr.Tool(rt, mrtr.Native(branching), nil))
	name := given.Always[struct{}](units)
	mcp.AddTool(s, &mcp.Tool{}, mrtr.Tool(rt, given.Handler(name, givenOne), nil))
	mcp.AddTool(s, &mcp.Tool{}, mrtr.Tool(rt, given.All(givenAll, name), nil))
	mcp.AddTool(s, &mcp.Tool{}, mrtr.Tool(rt, mrtr.ByVersion(mrtr.Native(branching), given.All(legacyGiven, name)), nil))
	s.AddTool(&mcp.Tool{}, behindInterface)
	s.AddTool(&mcp.Tool{}, checksEra)
	s.AddTool(&mcp.Tool{}, checksMeta)
	s.AddTool(&mcp.Tool{}, checksInHelper)
	s.AddTool(&mcp.Tool{}, checksElsewhere)
	s.AddTool(&mcp.Tool{}, dispatches)
	s.AddTool(&mcp.Tool{}, onlyOneSide)
	s.AddTool(&mcp.Tool{}, checksAnswers)
	s.AddTool(&mcp.Tool{}, checksWhoAsks)
}

func elicits(ctx context.Context, req request) (result, error) {
	_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?"}) // want `mcp.ServerSession.Elicit in a handler that modern requests reach`
	return nil, err
}

type asker interface {
	Elicit(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
}

func behindInterface(ctx context.Context, req request) (result, error) {
	return nil, askThrough(ctx, kept{asker: req.Session})
}

type kept struct{ asker asker }

func askThrough(ctx context.Context, k kept) error {
	_, err := k.asker.Elicit(ctx, nil) // want `mcp.ServerSession.Elicit in a handler`
	return err
}

type desk struct{}

func (*desk) samples(ctx context.Context, req request) (result, error) {
	session := req.Session
	if _, err := session.CreateMessageWithTools(ctx, nil); err != nil { // want `mcp.ServerSession.CreateMessageWithTools in a handler`
		return nil, err
	}
	_, err := session.CreateMessage(ctx, nil) // want `mcp.ServerSession.CreateMessage in a handler`
	return nil, err
}

func made(message string) mcp.ToolHandler {
	question := &mcp.ElicitParams{Message: message}
	return func(ctx context.Context, req request) (result, error) {
		_, err := req.Session.Elicit(ctx, question) // want `mcp.ServerSession.Elicit in a handler`
		return nil, err
	}
}

func bridged(ctx context.Context, req request) (result, error) {
	_, err := req.Session.ListRoots(ctx, nil) // want `mcp.ServerSession.ListRoots in a handler`
	return nil, err
}

func typed(ctx context.Context, req request, _ struct{}) (result, any, error) {
	defer func() {
		_, _ = req.Session.ListRoots(ctx, nil) // want `mcp.ServerSession.ListRoots in a handler`
	}()
	return nil, nil, nil
}

func askThem(ctx context.Context, s *mcp.ServerSession) (*mcp.ElicitResult, error) {
	return s.Elicit(ctx, &mcp.ElicitParams{}) // want `mcp.ServerSession.Elicit in a handler`
}

func prompt(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	_, err := req.Session.Elicit(ctx, nil) // want `mcp.ServerSession.Elicit in a handler`
	return nil, err
}

func resource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	_, err := req.Session.ListRoots(ctx, nil) // want `mcp.ServerSession.ListRoots in a handler`
	return nil, err
}

var units = mrtr.Elicit[string]("units", "Which units?")

func overSession(ctx context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, string, error) {
	got, err := units.AskOver(ctx, c.Session()) // want `mrtr.Question.AskOver in a handler`
	return nil, got, err
}

func givenOne(ctx context.Context, c *mrtr.Call, _ struct{}, unit string) (string, error) {
	return units.AskOver(ctx, c.Session()) // want `mrtr.Question.AskOver in a handler`
}

func givenAll(ctx context.Context, at *given.At[struct{}]) (string, error) {
	return units.AskOver(ctx, at.Call.Session()) // want `mrtr.Question.AskOver in a handler`
}

func onlyOneSide(ctx context.Context, req request) (result, error) {
	if era.Of(req) == era.Modern && len(req.Params.Arguments) > 0 {
		return &mcp.CallToolResult{}, nil
	}
	_, err := req.Session.Elicit(ctx, nil) // want `mcp.ServerSession.Elicit in a handler`
	return nil, err
}

func checksAnswers(ctx context.Context, req request) (result, error) {
	if in, _ := decode(req); in == "" {
		_, err := req.Session.Elicit(ctx, nil) // want `mcp.ServerSession.Elicit in a handler`
		return nil, err
	}
	return nil, nil
}

var authorize func(request) error

func checksWhoAsks(ctx context.Context, req request) (result, error) {
	if err := authorize(req); err != nil { // an error does not tell the revision
		return nil, err
	}
	_, err := req.Session.Elicit(ctx, nil) // want `mcp.ServerSession.Elicit in a handler`
	return nil, err
}

func decode(req request) (string, error) { return string(req.Params.Arguments), nil }

// From here on only legacy clients are asked.

func checksEra(ctx context.Context, req request) (result, error) {
	switch era.Of(req) {
	case era.Legacy:
		_, err := req.Session.Elicit(ctx, nil)
		return nil, err
	default:
		return &mcp.CallToolResult{}, nil
	}
}

func checksMeta(ctx context.Context, req request) (result, error) {
	if p := req.Session.InitializeParams(); p == nil || p.ProtocolVersion >= era.FirstModern {
		return &mcp.CallToolResult{}, nil
	}
	_, err := req.Session.ListRoots(ctx, nil)
	return nil, err
}

func checksInHelper(ctx context.Context, req request) (result, error) {
	if !old(req) {
		return &mcp.CallToolResult{}, nil
	}
	_, err := req.Session.ListRoots(ctx, nil)
	return nil, err
}

func old(req request) bool { return req.ProtocolVersion() < "2026-07-28" }

var canAsk func(*mcp.ServerSession) bool

func checksElsewhere(ctx context.Context, req request) (result, error) {
	if canAsk(req.Session) {
		_, err := req.Session.ListRoots(ctx, nil)
		return nil, err
	}
	return &mcp.CallToolResult{}, nil
}

func dispatches(ctx context.Context, req request) (result, error) {
	if era.Of(req) == era.Legacy {
		return legacy(ctx, req)
	}
	return &mcp.CallToolResult{}, nil
}

func legacy(ctx context.Context, req request) (result, error) {
	_, err := req.Session.Elicit(ctx, nil)
	return nil, err
}

func branching(ctx context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, string, error) {
	if !c.Modern() {
		got, err := units.AskOver(ctx, c.Session())
		return nil, got, err
	}
	return mrtr.Need(units), "", nil
}

func legacyGiven(ctx context.Context, at *given.At[struct{}]) (string, error) {
	return units.AskOver(ctx, at.Call.Session())
}

// Nobody registers it, and a server may ask outside a request.
func setup(ctx context.Context, s *mcp.ServerSession) (*mcp.ElicitResult, error) {
	return s.Elicit(ctx, nil)
}

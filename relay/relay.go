// Package relay has a gateway's tool call the tool of another server, and pass that server's
// questions on to the client.
//
//	client := mcp.NewClient(&mcp.Implementation{Name: "gateway", Version: "1"}, &mcp.ClientOptions{
//		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // the questions are for our client
//	})
//	upstream, err := client.Connect(ctx, transport, nil)
//	...
//	err = relay.AddAll(ctx, server, rt, upstream)
//
// The state of the upstream travels inside ours, sealed, so any instance of the gateway serves
// any round, and no forged state gets past it. The client's answers are judged by the forms
// that the upstream sent, and handed to it: a decline too, of which it makes what it likes.
// Its effects, and its undoing of them, stay its own. Clients that the upstream could not ask are
// asked as those of any tool here: legacy ones over their session, others in a task. The package is a
// [mrtr.Style], written with public names alone.
package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

// An Upstream calls the tools of another server, and returns its questions as they come. An
// *mcp.ClientSession is one, if its client has MultiRoundTrip.Disabled. A gateway with a
// session for each user finds the user in the context.
type Upstream interface {
	CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

// AddAll adds all the tools that a server has now.
func AddAll(ctx context.Context, s *mcp.Server, rt *mrtr.Runtime, upstream *mcp.ClientSession, opts ...*mrtr.HandlerOptions) error {
	for tool, err := range upstream.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		mrtr.Add(s, rt, tool, Tool(upstream, tool.Name), opts...)
	}
	return nil
}

// Tool is the tool of another server. Register it with the schemas that it has there.
//
// If an instance of the gateway dies while the upstream works, the call ends as one whose
// outcome nobody knows: it is not made a second time.
func Tool(upstream Upstream, name string) mrtr.Style[json.RawMessage, *mcp.CallToolResult] {
	if upstream == nil || name == "" {
		return mrtr.Style[json.RawMessage, *mcp.CallToolResult]{}
	}
	return mrtr.Style[json.RawMessage, *mcp.CallToolResult]{
		Print: "relay of " + name, Replays: true, Again: true,
		Enter: func(ctx context.Context, p *mrtr.Pass, arguments json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
			var t turn
			if noted, ok := p.Noted(note); ok {
				if err := json.Unmarshal(noted, &t); err != nil {
					return nil, nil, err
				}
			}
			p.Enter(name)
			params := t.request(p, name, arguments)
			var res *mcp.CallToolResult
			if err := p.FinishOnce(ctx, effect, func() (err error) { res, err = call(ctx, upstream, params); return err }); err != nil {
				return nil, nil, err
			}
			if res.InputRequests == nil {
				return nil, complete(res), nil
			}
			questions, err := take(p, res)
			return mrtr.Need(questions...), nil, err
		},
	}
}

const (
	effect = "upstream" // what a round does there, in the words of errors
	note   = "relay"    // the turn
)

// A turn is what the state keeps between two requests to the upstream.
type turn struct {
	State string           `json:"state,omitempty"` // the upstream's
	Asked map[string]asked `json:"asked,omitempty"` // by our keys
}

// asked is a question of the upstream's: its key there, and what it asks for.
type asked struct{ Key, For string }

// request is the next request to the upstream, with the answers that have come.
func (t *turn) request(p *mrtr.Pass, name string, arguments json.RawMessage) *mcp.CallToolParams {
	params := &mcp.CallToolParams{Name: name, RequestState: t.State, Meta: meta(p.Call())}
	if len(arguments) > 0 {
		params.Arguments = arguments
	}
	if len(t.Asked) > 0 {
		params.InputResponses = mcp.InputResponseMap{}
	}
	for ours, q := range t.Asked {
		switch q.For {
		case "elicitation":
			params.InputResponses[q.Key], _ = mrtr.AnswerAs[*mcp.ElicitResult](p, ours)
		case "sampling":
			params.InputResponses[q.Key], _ = mrtr.AnswerAs[*mcp.CreateMessageWithToolsResult](p, ours) //lint:ignore SA1019 still legal on the wire
		case "roots":
			params.InputResponses[q.Key], _ = mrtr.AnswerAs[*mcp.ListRootsResult](p, ours) //lint:ignore SA1019 still legal on the wire
		}
	}
	return params
}

// take notes what the upstream asks, and returns it as questions of ours.
func take(p *mrtr.Pass, res *mcp.CallToolResult) (questions []mrtr.AnyQuestion, _ error) {
	t := turn{State: res.RequestState, Asked: map[string]asked{}}
	used := p.Keys()
	for _, theirs := range slices.Sorted(maps.Keys(res.InputRequests)) {
		ours := free(theirs, used)
		used = append(used, ours)
		switch request := res.InputRequests[theirs].(type) {
		case *mcp.ElicitParams:
			t.Asked[ours] = asked{theirs, "elicitation"}
			questions = append(questions, mrtr.ElicitRaw(ours, request))
		case *mcp.CreateMessageWithToolsParams: //lint:ignore SA1019 still legal on the wire
			t.Asked[ours] = asked{theirs, "sampling"}
			questions = append(questions, mrtr.Sample(ours, request))
		case *mcp.ListRootsParams: //lint:ignore SA1019 still legal on the wire
			t.Asked[ours] = asked{theirs, "roots"}
			questions = append(questions, mrtr.Roots(ours))
		default:
			return nil, fmt.Errorf("the upstream asks with a %T, which nobody here can be asked", request)
		}
	}
	noted, err := json.Marshal(t)
	p.Unnote(note)
	p.Note(note, noted)
	return questions, err
}

// free is the key under which we ask a question of the upstream's: its own, unless no question
// of ours can have it, or an earlier one has. An upstream that asks again may word it anew.
func free(theirs string, used []string) (ours string) {
	if !isKey(theirs) {
		theirs = "question"
	}
	ours = theirs
	for n := 2; slices.Contains(used, ours) || !isKey(ours); n++ {
		suffix := fmt.Sprintf("-%d", n)
		ours = theirs[:min(len(theirs), 64-len(suffix))] + suffix
	}
	return ours
}

// isKey reports whether a question of ours can have the key.
func isKey(key string) bool { return mrtr.Confirm(key, "?").Err() == nil }

const (
	mostIdle = 3      // requests in a row that the upstream answers with a state alone
	rejected = -32005 // go-sdk's own code for a request that its transport could not send, or read the answer to
)

// call calls the upstream, and again while it asks for nothing but that. Its work for a state alone
// is in no state of ours yet: so from there on no failure, a refusal included, has the round run again.
func call(ctx context.Context, upstream Upstream, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	for idle := range mostIdle {
		own := *params
		own.Meta = maps.Clone(params.Meta) // a session writes to it
		res, err := upstream.CallTool(ctx, &own)
		var refused *jsonrpc.Error
		switch {
		case idle == 0 && errors.As(err, &refused) && refused.Code != rejected:
			return nil, refused
		case idle == 0 && isDial(err):
			return nil, &lost{err, ""}
		case err != nil:
			return nil, &lost{err, "unknown"}
		case res.InputRequests == nil && res.RequestState == "" || len(res.InputRequests) > 0:
			return res, nil
		}
		params.RequestState, params.InputResponses = res.RequestState, nil
	}
	return nil, &lost{errors.New("the upstream asked to be called again without a question too often"), "unknown"}
}

// complete is the upstream's result as our own. What it says of its server does not travel on.
func complete(res *mcp.CallToolResult) *mcp.CallToolResult {
	own := &mcp.CallToolResult{Meta: maps.Clone(res.Meta), Content: res.Content, StructuredContent: res.StructuredContent, IsError: res.IsError}
	delete(own.Meta, mcp.MetaKeyServerInfo)
	return own
}

// meta declares to the upstream what our client can be asked in this round, and no more.
func meta(c *mrtr.Call) mcp.Meta {
	client, can := c.Client(), map[string]map[string]struct{}{}
	for _, d := range []struct {
		declared bool
		of, part string
	}{
		{client.Form, "elicitation", "form"}, {client.URL, "elicitation", "url"},
		{client.Sampling, "sampling", ""}, {client.SamplingTools, "sampling", "tools"}, {client.Roots, "roots", ""},
	} {
		if d.declared && can[d.of] == nil {
			can[d.of] = map[string]struct{}{}
		}
		if d.declared && d.part != "" {
			can[d.of][d.part] = struct{}{}
		}
	}
	own := mcp.Meta{mcp.MetaKeyClientCapabilities: can}
	for _, name := range []string{"traceparent", "tracestate", "baggage"} {
		if value, ok := c.Request().GetParams().GetMeta()[name]; ok {
			own[name] = value
		}
	}
	return own
}

// lost is the error of an upstream that gave no answer.
type lost struct {
	cause  error
	effect string // "unknown" if the upstream may have done something
}

// isDial reports whether a request did not reach the upstream.
func isDial(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

func (e *lost) Error() string {
	if e.effect == "" {
		return "The server behind this tool cannot be reached. Nothing was done."
	}
	return "The server behind this tool gave no answer, and nobody knows what it has done: do not call the tool again without checking."
}

// ToolErrorType names the error for agents.
func (e *lost) ToolErrorType() string { return "upstream_lost" }

// ToolErrorEffect tells of the effects of the upstream. ToolErrorCause is for the log.
func (e *lost) ToolErrorEffect() string { return e.effect }
func (e *lost) ToolErrorCause() string  { return e.cause.Error() }

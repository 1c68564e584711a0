package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/stack"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// attempt is one request for a gated tool.
type attempt struct {
	req    *mcp.CallToolRequest
	tool   *mcp.Tool
	next   mcp.MethodHandler
	failed atomic.Pointer[error] // how the tool failed, if it was called for this request
}

type attemptKey struct{}

// serve lets the request through if its call is approved. Any other is a round of the handler
// that asks, under a name of its own: its states and those of the tool, which may have the same
// runtime, do not open for one another.
func (g *Gate) serve(ctx context.Context, a *attempt) (mcp.Result, error) {
	p := a.req.Params
	if principal, err := g.rt.Sender(ctx, a.req); err == nil { // else the handler refuses it
		if p.RequestState == "" {
			if g.approvals.has(ctx, principal, a) {
				return g.forward(ctx, a, principal, "", p.InputResponses)
			}
		} else if state, err := g.passes.Open(g.binding(a, principal), p.RequestState); err == nil {
			return g.forward(ctx, a, principal, string(state), p.InputResponses)
		}
	}
	asked := *p
	asked.Name = "gate:" + p.Name
	res, err := g.handler(context.WithValue(ctx, attemptKey{}, a), &mcp.CallToolRequest{Session: a.req.Session, Params: &asked, Extra: a.req.Extra})
	if err != nil {
		return nil, err
	}
	return a.unpack(res)
}

// decide is the handler of a gated call. It calls the tool once it is approved.
func (g *Gate) decide(ctx context.Context, c *mrtr.Call, arguments json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
	a := ctx.Value(attemptKey{}).(*attempt)
	lasting := g.approvals != nil && c.Principal() != ""
	text, hides := g.question(a.tool, arguments)
	if hides {
		return nil, nil, tooMany{}
	}
	question := mrtr.ElicitAs[decision](questionKey, text, g.form(lasting))
	said, ok := mrtr.Answer(c, question)
	switch {
	case !ok:
		return mrtr.Need(question), nil, nil
	case !said.Approve:
		return nil, nil, &mrtr.Error{Reason: mrtr.Declined, Key: questionKey}
	}
	restore, err := g.spend(ctx, c.ID())
	if err != nil {
		return nil, nil, err
	}
	if said.Remember && lasting {
		g.approvals.grant(ctx, c.Principal(), a)
	}
	res, err := g.forward(ctx, a, c.Principal(), "", nil)
	if wire := (*jsonrpc.Error)(nil); errors.As(err, &wire) && wire.Code == callerror.CodeNotBegun {
		restore() // the tool was not begun, and the same approval may come again
		return nil, nil, wire
	}
	return nil, a.pack(res, err), nil
}

// unspent is the value of an approval whose call was not begun.
const unspent = "unspent"

// spend uses up the approval of a call, if no store does, and returns what takes that back.
func (g *Gate) spend(ctx context.Context, call string) (restore func(), _ error) {
	if g.spent == nil {
		return func() {}, nil
	}
	epoch, err := g.spent.Epoch(ctx)
	if err != nil {
		return nil, err
	}
	key, ttl := store.Key{Epoch: epoch, Name: call}, g.rt.StateTTL()+2*statecodec.MaxSkew
	at, err := g.spent.Create(ctx, key, nil, ttl)
	if errors.Is(err, store.ErrExists) {
		value, last, _ := g.spent.Get(ctx, key)
		if string(value) != unspent {
			return nil, &mrtr.Error{Reason: mrtr.ResultNotKept}
		}
		if at, err = g.spent.Update(ctx, key, last, nil, ttl); errors.Is(err, store.ErrConflict) {
			return nil, &mrtr.Error{Reason: mrtr.ResultNotKept}
		}
	}
	return func() { _, _ = g.spent.Update(context.WithoutCancel(ctx), key, at, []byte(unspent), ttl) }, err
}

// forward calls the tool, with the state that it gave its client. If it asks, its next state
// is sealed into one that says that the call is approved.
func (g *Gate) forward(ctx context.Context, a *attempt, principal, state string, answers mcp.InputResponseMap) (mcp.Result, error) {
	own := *a.req.Params
	own.RequestState, own.InputResponses = state, answers
	res, err := a.next(ctx, toolsCall, &mcp.CallToolRequest{Session: a.req.Session, Params: &own, Extra: a.req.Extra})
	tool, ok := res.(*mcp.CallToolResult)
	switch {
	case err != nil:
		return nil, err
	case res == nil || ok && tool == nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The tool returned neither a result nor an error."}
	case !ok || tool.InputRequests == nil:
		return res, nil
	}
	made := *tool
	made.RequestState, err = g.passes.Seal(g.binding(a, principal), []byte(tool.RequestState))
	return &made, err
}

// binding ties an approval to its call, and to the words in which the call is asked about: a tool
// that was replaced under its name meanwhile is another one.
func (g *Gate) binding(a *attempt, principal string) statecodec.Binding {
	var words string
	stack.Guard(func() { words, _ = g.question(a.tool, a.req.Params.Arguments) })
	return statecodec.Binding{
		Method: toolsCall, Target: strconv.Quote(a.req.Params.Name) + words, Arguments: a.req.Params.Arguments,
		Principal: principal, Audience: g.o.Audience,
	}
}

func (g *Gate) audience() string { return strconv.Quote(g.rt.Audience()) + strconv.Quote(g.o.Audience) }

// carriedKey is the _meta of a result that stands for something else: the engine remembers
// results of tools, and a call may also end as a task or with a JSON-RPC error.
const carriedKey = "mrtr/gate"

type carried struct {
	Tool   json.RawMessage            `json:"tool,omitempty"` // that asks
	Result map[string]json.RawMessage `json:"result,omitempty"`
	Error  *jsonrpc.Error             `json:"error,omitempty"`
}

// pack makes the outcome of a call a result that the engine can remember.
func (a *attempt) pack(res mcp.Result, err error) *mcp.CallToolResult {
	tool, ok := res.(*mcp.CallToolResult)
	asks := ok && (tool.InputRequests != nil || tool.RequestState != "" || tool.NeedsInput())
	if ok && err == nil && !asks {
		return tool
	}
	var c carried
	if err == nil {
		var raw []byte
		if raw, err = json.Marshal(res); err == nil && asks {
			c.Tool = raw
		} else if err == nil {
			err = json.Unmarshal(raw, &c.Result)
		}
	}
	if failed := err; failed != nil {
		a.failed.Store(&failed)
		if !errors.As(failed, &c.Error) {
			c.Error = &jsonrpc.Error{Message: failed.Error()} // as go-sdk sends it
		}
	}
	raw, err := json.Marshal(c)
	if err != nil { // the error's data is no JSON
		raw, _ = json.Marshal(carried{Error: &jsonrpc.Error{Code: c.Error.Code, Message: c.Error.Message}})
	}
	return &mcp.CallToolResult{Meta: mcp.Meta{carriedKey: json.RawMessage(raw)}}
}

// unpack is the outcome that a result of the handler stands for. An error of this request is
// the tool's own, so that layers outside can read it.
func (a *attempt) unpack(res *mcp.CallToolResult) (mcp.Result, error) {
	raw, ok := res.Meta[carriedKey].(json.RawMessage)
	if !ok {
		return a.stamp(res), nil
	}
	var c carried
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, err
	}
	if err := a.failed.Load(); err != nil {
		return nil, *err
	}
	if c.Error != nil {
		return nil, c.Error
	}
	if c.Tool != nil {
		tool := &mcp.CallToolResult{}
		if err := json.Unmarshal(c.Tool, tool); err != nil {
			return nil, err
		}
		return a.stamp(tool), nil
	}
	other := &otherResult{members: c.Result}
	if meta, ok := c.Result["_meta"]; ok {
		if err := json.Unmarshal(meta, &other.Meta); err != nil {
			return nil, err
		}
	}
	return other, nil
}

// otherResult is a result that is no tool's, such as a task, with a _meta that go-sdk can
// write to.
type otherResult struct {
	mcp.ResultBase
	members map[string]json.RawMessage
}

func (r *otherResult) MarshalJSON() ([]byte, error) {
	members := maps.Clone(r.members)
	if len(r.Meta) > 0 {
		meta, err := json.Marshal(r.Meta)
		if err != nil {
			return nil, err
		}
		members["_meta"] = meta
	}
	return json.Marshal(members)
}

// Empty results with a resultType. The field is unexported, so that only go-sdk's decoder can
// set it; copies keep it.
var (
	complete = stamped(`{"resultType":"complete","content":[]}`)
	asking   = stamped(`{"resultType":"input_required","content":[]}`)
)

func stamped(text string) (res mcp.CallToolResult) {
	if err := json.Unmarshal([]byte(text), &res); err != nil {
		panic(err) // go-sdk no longer reads its own results
	}
	return res
}

// stamp gives the questions and errors of the gate their resultType, which go-sdk does for
// results of tools alone. The legacy revisions have none.
func (a *attempt) stamp(res *mcp.CallToolResult) *mcp.CallToolResult {
	var made mcp.CallToolResult
	version := era.ClientOf(a.req).Version
	modern := version == "" || version >= era.FirstModern
	switch {
	case res.InputRequests == nil && !res.IsError || res.NeedsInput():
		return res
	case modern && res.IsError:
		made = complete
	case modern:
		made = asking
	}
	made.Meta, made.Content, made.StructuredContent = res.Meta, res.Content, res.StructuredContent
	made.IsError, made.InputRequests, made.RequestState = res.IsError, res.InputRequests, res.RequestState
	err := res.GetError()
	if declined := a.declined(err); declined != nil {
		made.Content, err = nil, declined // SetError writes its text
	}
	if err != nil {
		made.SetError(err)
	}
	return &made
}

// declined is the error of a user who did not approve, in words of this call; nil if it is
// another.
func (a *attempt) declined(err error) error {
	var e *mrtr.Error
	if !errors.As(err, &e) || e.Key != questionKey || e.Reason != mrtr.Declined && e.Reason != mrtr.Cancelled {
		return nil
	}
	own := *e
	own.Detail = fmt.Sprintf("the user did not approve the call of %q, and it was not made", a.req.Params.Name)
	return &own
}

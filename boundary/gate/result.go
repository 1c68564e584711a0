package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse/era"
)

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

package examples

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

// Drop is the input of a tool that asks before it destroys, and Dropped its output.
type (
	Drop    struct{ Database string }
	Dropped struct{ Database string }
)

var errKept = errors.New("nothing was dropped")

// ByHand is that tool on go-sdk alone. Its tokens are good once, for one database, at the instance
// that made them, and for clients of the new revision.
type ByHand struct {
	Drop  func(database string) error
	asked sync.Map // the databases, by token
}

// Tool is the guard.
func (h *ByHand) Tool(_ context.Context, req *mcp.CallToolRequest, in Drop) (*mcp.CallToolResult, Dropped, error) {
	if database, ok := h.asked.LoadAndDelete(req.Params.RequestState); !ok || database != in.Database {
		token := rand.Text()
		h.asked.Store(token, in.Database)
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{"drop": &mcp.ElicitParams{
				Message:         "Drop " + in.Database + "?",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"drop":{"type":"boolean"}},"required":["drop"]}`),
			}},
			RequestState: token,
		}, Dropped{}, nil
	}
	answer, ok := req.Params.InputResponses["drop"].(*mcp.ElicitResult)
	if !ok || answer.Action != "accept" || answer.Content["drop"] != true {
		return nil, Dropped{}, errKept
	}
	return nil, Dropped(in), h.Drop(in.Database)
}

// Guarded is the same tool, for clients of every revision, at any instance.
type Guarded struct {
	Drop func(database string) error
}

// Tool is the guard, for mrtr.Native.
func (g *Guarded) Tool(ctx context.Context, c *mrtr.Call, in Drop) (*mrtr.IncompleteResult, Dropped, error) {
	sure := mrtr.Confirm("drop", "Drop "+mrtr.Quote(in.Database)+"?")
	yes, ok := mrtr.Answer(c, sure)
	switch {
	case !ok:
		return mrtr.Need(sure), Dropped{}, nil
	case !yes:
		return nil, Dropped{}, errKept
	}
	return nil, Dropped(in), mrtr.Do(ctx, c, "drop", func(context.Context, string) error { return g.Drop(in.Database) })
}

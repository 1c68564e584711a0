package rendezvous

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// An UnboundTool is one that was registered and binds no argument to a header. Another may
// have taken its name since, which go-sdk tells nobody; [UnboundTool.Missed] notices.
//
// The schema of a tool may have a client repeat an argument in a Mcp-Param header, and a
// server refuses a call that does not. go-sdk shows nobody the tool that a name stands for,
// so a transport cannot tell whether it must look: whoever registers a tool says so here.
type UnboundTool struct {
	stands atomic.Bool // it was the one that its name stands for when last seen
}

type named struct {
	server weak.Pointer[mcp.Server]
	name   string
}

var unbound sync.Map // of named to *UnboundTool

// AddTool adds a tool to a server, and knows it from then on if it binds no argument.
func AddTool(server *mcp.Server, t *mcp.Tool, h mcp.ToolHandler) {
	key := named{weak.Make(server), t.Name}
	_, replaced := unbound.LoadAndDelete(key)
	if schema, err := json.Marshal(t.InputSchema); err != nil || binds(jsontext.Walk(schema, jsontext.MaxDepth)) {
		server.AddTool(t, h)
		return
	}
	tool := &UnboundTool{}
	server.AddTool(t, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if !tool.stands.Load() {
			tool.stands.Store(true)
		}
		if visit, ok := ctx.Value(VisitKey{}).(Visit); ok {
			visit.Enter(tool)
		}
		return h(ctx, req)
	})
	tool.stands.Store(true)
	unbound.Store(key, tool)
	if !replaced {
		runtime.AddCleanup(server, func(key named) { unbound.Delete(key) }, key)
	}
}

// binds reports whether a schema, or a part of it, has a member for a header, however the
// member's name is spelled.
func binds(w *jsontext.Walker) bool {
	switch w.Kind() {
	case '{':
		for name := range w.Members {
			if string(name) == "x-mcp-header" || binds(w) {
				return true
			}
		}
	case '[':
		for range w.Elements {
			if binds(w) {
				return true
			}
		}
	default:
		w.Value()
	}
	return false
}

// UnboundToolOf is the tool of that name if it is known to bind no argument to a header, else nil.
func UnboundToolOf(server weak.Pointer[mcp.Server], name string) *UnboundTool {
	found, ok := unbound.Load(named{server, name})
	if !ok || !found.(*UnboundTool).stands.Load() {
		return nil
	}
	return found.(*UnboundTool)
}

// Missed says that a call of the tool's name had a good result, and the tool's handler was
// not entered: another tool answers to the name. It is not found by [UnboundToolOf] until it is entered
// again.
func (t *UnboundTool) Missed() { t.stands.Store(false) }

// VisitKey is for the [Visit] in the context of a call.
type VisitKey struct{}

// A Visit hears of the tool whose handler a call enters.
type Visit interface{ Enter(*UnboundTool) }

package boundary

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// catalogAge bounds how long a tool that was replaced under its own name is
	// taken for its predecessor.
	catalogAge = time.Second

	maxCatalogPages = 1000
)

// A catalog knows the server's tools. The SDK shows them to nobody but through
// tools/list, so that is what it asks, on the session of the call at hand, and
// remembers the answer for a second. A remembered definition may pass a call but
// never fail one: before anything is refused the list is read again.
//
// Middleware that was added before the boundary sees these requests as it sees a
// client's.
type catalog struct {
	next   mcp.MethodHandler
	logger *slog.Logger

	mu      sync.Mutex // one reader of the list at a time
	current atomic.Pointer[snapshot]
}

type snapshot struct {
	at    time.Time
	tools map[string]*definition
}

// lookup finds the tool of the call, or nil if there is no such tool.
func (k *catalog) lookup(ctx context.Context, c *call) *definition {
	s := k.current.Load()
	if s != nil && time.Since(s.at) < catalogAge {
		if d := s.tools[c.tool]; d != nil {
			return d
		}
	}
	return k.fresh(ctx, c)
}

// fresh finds the tool in a list that was read after the call of fresh.
func (k *catalog) fresh(ctx context.Context, c *call) *definition {
	if s := k.read(ctx, c); s != nil {
		return s.tools[c.tool]
	}
	return nil
}

// read lists the tools, or returns a list that somebody else began to read after
// read was called. It is nil if the server would not list them.
func (k *catalog) read(ctx context.Context, c *call) *snapshot {
	asked := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.current.Load()
	if old != nil && old.at.After(asked) {
		return old
	}
	s := &snapshot{at: time.Now(), tools: map[string]*definition{}}
	params := &mcp.ListToolsParams{Meta: c.req.Params.Meta}
	for range maxCatalogPages {
		req := &mcp.ListToolsRequest{Session: c.req.Session, Params: params, Extra: c.req.Extra}
		res, err := k.next(ctx, methodListTools, req)
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok || list == nil {
			k.logger.WarnContext(ctx, "the boundary cannot list the tools", "error", err)
			return old
		}
		for _, tool := range list.Tools {
			if tool == nil {
				continue
			}
			if old != nil && old.tools[tool.Name] != nil && old.tools[tool.Name].tool == tool {
				s.tools[tool.Name] = old.tools[tool.Name] // with its resolved schemas
				continue
			}
			s.tools[tool.Name] = &definition{tool: tool, logger: k.logger}
		}
		if list.NextCursor == "" || list.NextCursor == params.Cursor {
			break
		}
		params = &mcp.ListToolsParams{Meta: params.Meta, Cursor: list.NextCursor}
	}
	k.current.Store(s)
	return s
}

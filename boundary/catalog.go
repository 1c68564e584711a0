package boundary

import (
	"context"
	"errors"
	"fmt"
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
// never fail one: before anything is refused the list is read again. Only where
// the server will not list its tools now is the last list believed for longer,
// and never by the tier gate.
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

	// incomplete is why there may be more tools than these; nil if there are not.
	incomplete error
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

// fresh finds the tool in a list that was read after the call of fresh, or in the
// last one if the server will not list its tools now.
func (k *catalog) fresh(ctx context.Context, c *call) *definition {
	s, err := k.read(ctx, c)
	if err != nil {
		s = k.current.Load()
	}
	if s == nil {
		return nil
	}
	return s.tools[c.tool]
}

// proven finds the tool in a list that was read after the call of proven. The
// definition is nil without an error only if the list is complete and the tool is
// not in it.
func (k *catalog) proven(ctx context.Context, c *call) (*definition, error) {
	s, err := k.read(ctx, c)
	if err != nil {
		return nil, err
	}
	if d := s.tools[c.tool]; d != nil {
		return d, nil
	}
	return nil, s.incomplete
}

// lists reports whether the last list had a tool of this name.
func (k *catalog) lists(name string) bool {
	s := k.current.Load()
	return s != nil && s.tools[name] != nil
}

// read lists the tools, or returns a list that somebody else began to read after
// read was called. An error means that the server would not list them.
func (k *catalog) read(ctx context.Context, c *call) (*snapshot, error) {
	asked := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.current.Load()
	if old != nil && old.at.After(asked) {
		return old, nil
	}
	s := &snapshot{
		at: time.Now(), tools: map[string]*definition{},
		incomplete: fmt.Errorf("tools/list has more than %d pages", maxCatalogPages),
	}
	params := &mcp.ListToolsParams{Meta: c.req.Params.Meta}
	for range maxCatalogPages {
		req := &mcp.ListToolsRequest{Session: c.req.Session, Params: params, Extra: c.req.Extra}
		res, err := k.next(ctx, methodListTools, req)
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok || list == nil {
			if err == nil {
				err = errors.New("it was answered with something else")
			}
			k.logger.WarnContext(ctx, "the boundary cannot list the tools", "error", clipped(err.Error(), maxLoggedText))
			return nil, fmt.Errorf("tools/list failed: %w", err)
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
		if list.NextCursor == "" {
			s.incomplete = nil
			break
		}
		if list.NextCursor == params.Cursor {
			s.incomplete = errors.New("tools/list names the same next page twice")
			break
		}
		params = &mcp.ListToolsParams{Meta: params.Meta, Cursor: list.NextCursor}
	}
	k.current.Store(s)
	return s, nil
}

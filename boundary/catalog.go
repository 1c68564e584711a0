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
	// catalogAge is how long a list is used. A tool that was replaced under its
	// own name may be taken for its predecessor for as long.
	catalogAge = time.Second

	maxCatalogPages = 1000
)

// A catalog knows the definitions of the server's tools. go-sdk gives them to
// nobody except through tools/list, so the catalog sends that request, on the
// session of the current call, and keeps the answer for a second. A kept
// definition can pass a call but not refuse one: before a refusal the list is read
// again. If the server fails to list its tools, the last list is used for longer,
// except by the tiers layer.
//
// Middleware that was added before the boundary sees these requests like a
// client's.
type catalog struct {
	next   mcp.MethodHandler
	logger *slog.Logger

	mu      sync.Mutex // one reader of the list at a time
	current atomic.Pointer[toolList]
}

type toolList struct {
	at    time.Time
	tools map[string]*definition

	// incomplete says why tools may be missing; nil if none is.
	incomplete error
}

// lookup returns the definition of the call's tool, or nil if there is none.
func (k *catalog) lookup(ctx context.Context, c *call) *definition {
	s := k.current.Load()
	if s != nil && time.Since(s.at) < catalogAge {
		if d := s.tools[c.tool]; d != nil {
			return d
		}
	}
	return k.fresh(ctx, c)
}

// fresh is lookup in a list that was read after fresh was called, or in the last
// one if the server fails to list its tools.
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

// certain is lookup in a list that was read after certain was called. A nil
// definition without an error means that the list is complete and lacks the tool.
func (k *catalog) certain(ctx context.Context, c *call) (*definition, error) {
	s, err := k.read(ctx, c)
	if err != nil {
		return nil, err
	}
	if d := s.tools[c.tool]; d != nil {
		return d, nil
	}
	return nil, s.incomplete
}

// lists reports whether the last list has a tool of this name.
func (k *catalog) lists(name string) bool {
	s := k.current.Load()
	return s != nil && s.tools[name] != nil
}

// read lists the tools, or returns a list that another call began to read after
// read was called. An error means that the server fails to list them.
func (k *catalog) read(ctx context.Context, c *call) (*toolList, error) {
	asked := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.current.Load()
	if old != nil && old.at.After(asked) {
		return old, nil
	}
	s := &toolList{
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
			k.logger.WarnContext(ctx, "the boundary cannot list the tools", "error", truncated(err.Error(), maxLoggedText))
			return nil, fmt.Errorf("tools/list failed: %w", err)
		}
		for _, tool := range list.Tools {
			if tool == nil {
				continue
			}
			if old != nil && old.tools[tool.Name] != nil && old.tools[tool.Name].tool == tool {
				s.tools[tool.Name] = old.tools[tool.Name] // with its compiled schemas
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

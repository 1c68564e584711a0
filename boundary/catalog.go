package boundary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/shape"
)

const (
	// catalogAge is how long a definition is used. A tool that was replaced under
	// its own name may be taken for its predecessor for as long.
	catalogAge = time.Second

	maxCatalogPages = 1000

	// maxKept bounds each map of the catalog.
	maxKept = 1 << 12
)

// withRoom is a map of what can be made again, with room for one more. One that is full, with
// most in it, is emptied.
func withRoom[K comparable, V any](m map[K]V, most int) map[K]V {
	if m == nil || len(m) == most {
		return map[K]V{}
	}
	return m
}

// A catalog knows the definitions of the server's tools. go-sdk gives them to
// nobody except through tools/list, so the catalog sends that request, on the
// session of the current call, and keeps the definition for the calls of the same
// session for a second. A kept definition can pass a call but not refuse one: before
// a refusal the list is read again. If the server fails to list its tools, the last
// definition is used for longer, except by the tiers layer.
//
// Middleware may answer tools/list differently to each client, and slowly. So no
// lock is held while the list is read, and the tools shown to one session serve no
// other, unless there is no such middleware and go-sdk answers everybody alike. The
// compiled schemas of a tool follow from the tool itself and are always shared.
//
// Middleware that was added before the boundary sees these requests like a
// client's.
type catalog struct {
	next  mcp.MethodHandler
	alike bool // go-sdk itself answers tools/list
	sink  *sink

	mu       sync.Mutex // guards the maps, each of which maxKept bounds
	sessions map[weak.Pointer[mcp.ServerSession]]map[string]shown
	tools    map[*mcp.Tool]*definition
	names    map[string]struct{} // of the tools that were listed
}

// shown is the definition of a tool that a session was shown last, and when.
type shown struct {
	at  time.Time
	def *definition
}

// lookup returns the definition of the call's tool, or nil if there is none.
func (k *catalog) lookup(ctx context.Context, c *call) *definition {
	if s := k.shownTo(c); s.def != nil && time.Since(s.at) < catalogAge {
		return s.def
	}
	return k.fresh(ctx, c)
}

// fresh is lookup in a list that was read after fresh was called. If the server fails
// to list its tools, it looks in the list that the session was shown last.
func (k *catalog) fresh(ctx context.Context, c *call) *definition {
	def, _, err := k.find(ctx, c)
	if err != nil {
		return k.shownTo(c).def
	}
	return def
}

// certain is lookup in a list that was read after certain was called. A nil
// definition without an error means that the list is complete and lacks the tool.
func (k *catalog) certain(ctx context.Context, c *call) (*definition, error) {
	def, incomplete, err := k.find(ctx, c)
	if err != nil || def != nil {
		return def, err
	}
	return nil, incomplete
}

// find lists the tools up to the call's. An error means that the server fails to
// list them; incomplete says why the tool may exist though it was not found.
func (k *catalog) find(ctx context.Context, c *call) (def *definition, incomplete, err error) {
	asked := time.Now()
	var found *mcp.Tool
	incomplete, err = k.read(ctx, c, func(tools []*mcp.Tool) bool {
		k.know(tools)
		for _, tool := range tools {
			if tool != nil && tool.Name == c.tool {
				found = tool
			}
		}
		return found == nil
	})
	if err != nil {
		return nil, nil, err
	}
	def = k.define(found)
	k.show(c, shown{asked, def})
	return def, incomplete, nil
}

// read lists the tools page by page until more is false.
func (k *catalog) read(ctx context.Context, c *call, more func([]*mcp.Tool) bool) (incomplete, err error) {
	params := &mcp.ListToolsParams{Meta: c.meta}
	for range maxCatalogPages {
		req := &mcp.ListToolsRequest{Session: c.session, Params: params, Extra: c.extra}
		res, err := k.next(ctx, methodListTools, req)
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok || list == nil {
			if err == nil {
				err = errors.New("it was answered with something else")
			}
			k.sink.log(ctx, slog.LevelWarn, "the boundary cannot list the tools", slog.String("error", truncated(err.Error(), maxLoggedText)))
			return nil, fmt.Errorf("tools/list failed: %w", err)
		}
		switch {
		case !more(list.Tools) || list.NextCursor == "":
			return nil, nil
		case list.NextCursor == params.Cursor:
			return errors.New("tools/list names the same next page twice"), nil
		}
		params = &mcp.ListToolsParams{Meta: c.meta, Cursor: list.NextCursor}
	}
	return fmt.Errorf("tools/list has more than %d pages", maxCatalogPages), nil
}

// viewer is the session that a definition is kept for, or the zero key if go-sdk
// answers all sessions alike. It is false for a session that makes no other call.
func (k *catalog) viewer(c *call) (weak.Pointer[mcp.ServerSession], bool) {
	switch {
	case k.alike:
		return weak.Pointer[mcp.ServerSession]{}, true
	case c.alone:
		return weak.Pointer[mcp.ServerSession]{}, false
	}
	return weak.Make(c.session), true
}

// shownTo is the tool as the call's session was shown it last.
func (k *catalog) shownTo(c *call) shown {
	viewer, ok := k.viewer(c)
	if !ok {
		return shown{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sessions[viewer][c.tool]
}

func (k *catalog) show(c *call, s shown) {
	viewer, ok := k.viewer(c)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	own := k.sessions[viewer]
	switch {
	case s.def == nil:
		delete(own, c.tool)
		return
	case own == nil:
		k.sessions, own = withRoom(k.sessions, maxKept), map[string]shown{}
		k.sessions[viewer] = own
	case len(own) == maxKept:
		clear(own)
	}
	own[c.tool] = s
}

// isSDK reports whether a handler is go-sdk's own, with no middleware around it. It
// compares the code with that of a server's which has none, so a release that builds
// its handlers otherwise makes it false.
func isSDK(next mcp.MethodHandler) bool {
	var bare mcp.MethodHandler
	s := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		bare = next
		return next
	})
	return reflect.ValueOf(next).Pointer() == reflect.ValueOf(bare).Pointer()
}

// define is the definition of a tool, with the schemas that were compiled for it.
func (k *catalog) define(tool *mcp.Tool) *definition {
	if tool == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	def := k.tools[tool]
	if def == nil {
		k.tools = withRoom(k.tools, maxKept)
		def = &definition{
			tool: tool, listed: sync.OnceValues(func() (*mcp.Tool, error) { return plainTool(tool) }),
			input:  compiled(k.sink, tool, "input", tool.InputSchema, newInputSchema),
			output: compiled(k.sink, tool, "output", tool.OutputSchema, shape.Compile),
		}
		k.tools[tool] = def
	}
	return def
}

// know notes that there are tools of these names.
func (k *catalog) know(tools []*mcp.Tool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, tool := range tools {
		if tool != nil {
			k.names = withRoom(k.names, maxKept)
			k.names[tool.Name] = struct{}{}
		}
	}
}

// knows reports whether a tool of the call's name was listed for any client.
func (k *catalog) knows(c *call) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.names[c.tool]
	return ok
}

// A definition is a tool as tools/list defines it, with its schemas compiled on
// first use. The methods of a nil definition answer for a tool that nothing is
// known of.
type definition struct {
	tool   *mcp.Tool
	input  func() *inputSchema // nil for a schema that cannot be compiled: go-sdk alone judges the arguments then
	output func() *shape.Shape // nil for one that cannot be compiled; for a tool that has one

	// listed is the tool as tools/list shows it. It runs code of the author's, if there is
	// any in the tool, once.
	listed func() (*mcp.Tool, error)
}

func (d *definition) readOnly() bool {
	return d != nil && d.tool.Annotations != nil && d.tool.Annotations.ReadOnlyHint
}

func (d *definition) hasOutput() bool { return d != nil && d.tool.OutputSchema != nil }

// compiled is a schema of a tool's, compiled on first use.
func compiled[S any](s *sink, tool *mcp.Tool, which string, schema any, compile func(any) (*S, error)) func() *S {
	return sync.OnceValue(func() *S {
		made, err := recovering(func() (*S, error) { return compile(schema) })
		if err != nil {
			s.log(context.Background(), slog.LevelWarn, "the boundary cannot judge by a tool's schema",
				slog.String("tool", tool.Name), slog.String("schema", which), slog.String("error", truncated(err.Error(), maxLoggedText)))
		}
		return made
	})
}

// plainTool is a plain copy of a tool. Its schemas stay as they are written: the order of their
// properties is that of a form.
func plainTool(tool *mcp.Tool) (*mcp.Tool, error) {
	text, err := encoded("tool", tool)
	if err != nil {
		return nil, err
	}
	var made mcp.Tool
	var schemas struct {
		Input  json.RawMessage `json:"inputSchema"`
		Output json.RawMessage `json:"outputSchema"`
	}
	if err := errors.Join(json.Unmarshal(text, &made), json.Unmarshal(text, &schemas)); err != nil {
		return nil, err
	}
	made.InputSchema = schemas.Input
	if schemas.Output != nil {
		made.OutputSchema = schemas.Output
	}
	return &made, nil
}

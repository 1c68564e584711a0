package boundary

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/sse/era"
)

// callKey is the context key of a call, by which layers inside find out that it is
// logged.
type callKey = rendezvous.RecorderKey

// AddToRecord implements [rendezvous.Recorder].
func (c *call) AddToRecord(ctx context.Context, level slog.Level, attrs func() []slog.Attr) bool {
	if c.sink == nil || c.sink.logger == nil || !c.sink.logger.Enabled(ctx, level) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recorded {
		return false
	}
	if c.added == nil { // the first one says why
		c.added = attrs()
	}
	return true
}

// addedAttrs are what layers inside have added to the record, which is written now.
func (c *call) addedAttrs() []slog.Attr {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recorded = true
	return c.added
}

// A kind is a method that runs an author's handler, or stands for all the others.
type kind struct {
	method string // "" of the others
	noun   string // at the beginning of a sentence
	attr   string // in the log
}

var (
	toolCall       = &kind{"tools/call", "Tool", "tool"}
	promptCall     = &kind{"prompts/get", "Prompt", "prompt"}
	resourceCall   = &kind{"resources/read", "Resource", "resource"}
	completionCall = &kind{"completion/complete", "Completion", "completion"}
	otherCall      = &kind{"", "Request", "request"}
)

// A call is one request, as the layers know it.
// It travels in the context, where [Handler], [Applied] and the log handler find it.
//
// The layers read the copies made here, since the request belongs to the handler: it
// may set Params to nil, or change them while the outer layers finish.
type call struct {
	kind      *kind
	req       mcp.Request // for next
	session   *mcp.ServerSession
	extra     *mcp.RequestExtra
	meta      mcp.Meta // of the request
	tool      string   // the name of the tool or prompt, the resource's URI, or another method
	requestID string
	alone     bool // its session was made for it, and ends with it
	start     time.Time
	sink      *sink                 // for records beside that of the call
	round     *rendezvous.TaskRound // that this is, nil for a request of a client
	limit     time.Duration         // of the handler; set before it runs

	arguments json.RawMessage
	answers   int
	retry     bool // it goes on with a read of a resource

	revision revision

	// mu guards the fields below it. An abandoned handler may still write to them
	// while the outer layers finish.
	mu         sync.Mutex
	def        *definition // of the tool, for the layers inside tiers
	phase      phase       // only ever rises, by reach
	trace      trace       // only ever rises, by leave
	operations []operation
	cause      string // of a protocol error, for the log
	added      []slog.Attr
	recorded   bool // nothing can be added any more
}

// A revision is how a call's answer is encoded and how long its handler may take. It
// does not come from era.Of, which is about clients that can be asked: these two
// questions have an answer for every client.
type revision int

const (
	// legacy: session and request are of a revision before 2026-07-28. A result
	// carries no resultType.
	legacy revision = iota

	// mixed: the request names a modern revision in its _meta, by which a strict
	// client judges, so that a result made here carries resultType. The session is a
	// legacy one, in which go-sdk asks questions while the request is open.
	mixed

	// modern: the session is too.
	modern
)

func revisionOf(session *mcp.ServerSession, meta mcp.Meta) revision {
	switch {
	case !isLegacy(session):
		return modern
	case era.MetaVersion(meta) >= era.FirstModern:
		return mixed
	}
	return legacy
}

// A phase is how far a call has come.
type phase int

const (
	received phase = iota // no code of the author's was called for it
	entered               // the handler, or middleware around it, was called
	ran                   // a handler that Handler wraps was called
	checked               // and its output satisfies the tool's output schema
)

// A trace is left behind by a handler, by its own account: an effect, or at least
// a question to the user.
type trace int

const (
	untouched trace = iota
	asked
	applied
)

// callOf is the call of a request.
func callOf(ctx context.Context, method string, req mcp.Request) *call {
	c := &call{req: req, start: time.Now(), extra: req.GetExtra()}
	c.session, _ = req.GetSession().(*mcp.ServerSession)
	if p := req.GetParams(); !isNil(p) {
		c.meta = p.GetMeta()
	}
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		c.kind = toolCall
		if p := r.Params; p != nil {
			if string(p.Arguments) == "null" {
				p.Arguments = nil // go-sdk panics where the schema has a default
			}
			c.tool, c.arguments, c.answers = p.Name, p.Arguments, len(p.InputResponses)
		}
	case *mcp.GetPromptRequest:
		c.kind = promptCall
		if p := r.Params; p != nil {
			c.tool, c.answers = p.Name, len(p.InputResponses)
		}
	case *mcp.ReadResourceRequest:
		c.kind = resourceCall
		if p := r.Params; p != nil {
			c.tool, c.answers, c.retry = p.URI, len(p.InputResponses), p.RequestState != "" || len(p.InputResponses) > 0
		}
	case *mcp.CompleteRequest:
		c.kind = completionCall
		if p := r.Params; p != nil && p.Ref != nil {
			c.tool = p.Ref.Name + p.Ref.URI // it has one of them
		}
	}
	if c.kind == nil || c.kind.method != method {
		c.kind, c.tool = otherCall, method
	}
	c.requestID = requestIDFor(c.meta, c.extra)
	c.revision = revisionOf(c.session, c.meta)
	c.alone = c.session == nil || c.extra != nil && c.extra.Header != nil && c.session.ID() == "" && !rendezvous.InLastingSession(ctx)
	return c
}

func (c *call) method() string {
	if c.kind == otherCall {
		return c.tool
	}
	return c.kind.method
}

func isLegacy(session *mcp.ServerSession) bool {
	if session == nil {
		return false
	}
	p := session.InitializeParams()
	return p != nil && p.ProtocolVersion < era.FirstModern
}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// subject names the called thing in texts: Tool "forecast".
func (c *call) subject() string {
	return fmt.Sprintf("%s %q", c.kind.noun, c.loggedTool())
}

func (c *call) reach(p phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = max(c.phase, p)
}

func (c *call) leave(t trace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trace = max(c.trace, t)
}

// state returns how far the call has come, and the trace that it left.
func (c *call) state() (phase, trace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase, c.trace
}

func (c *call) define(d *definition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.def = d
}

func (c *call) definition() *definition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.def
}

// A principal is a client that authenticated itself. All other clients without a
// session that lasts count as one, sessionless: over HTTP each of their requests has
// a session of its own.
type (
	principal   string
	sessionless struct{}
)

// client identifies this call's client, as a map's key.
func (c *call) client() any {
	switch {
	case c.extra != nil && c.extra.TokenInfo != nil && c.extra.TokenInfo.UserID != "":
		return principal(c.extra.TokenInfo.UserID)
	case c.alone:
		return sessionless{}
	}
	return c.session
}

type operation struct {
	name  string
	spent time.Duration
}

// Operation measures a part of a tool call for the call's log record:
//
//	defer boundary.Operation(ctx, "geocode")()
//
// Durations under one name are added up. Outside a boundary it does nothing.
func Operation(ctx context.Context, name string) (done func()) {
	c := callFrom(ctx)
	if c == nil {
		return func() {}
	}
	begun := time.Now()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range c.operations {
			if c.operations[i].name == name {
				c.operations[i].spent += time.Since(begun)
				return
			}
		}
		c.operations = append(c.operations, operation{name, time.Since(begun)})
	}
}

func (c *call) timings() []slog.Attr {
	c.mu.Lock()
	defer c.mu.Unlock()
	var attrs []slog.Attr
	for _, op := range c.operations {
		attrs = append(attrs, slog.Float64(op.name, rendezvous.Milliseconds(op.spent)))
	}
	return attrs
}

// RequestIDKey is the _meta key for a client's own id of a request: at most 64
// letters, digits, or "-_.:". Any other id is ignored.
const RequestIDKey = "io.github.mrtr-go/requestId"

const maxRequestID = 64

// RequestID returns the id of the call that ctx belongs to, or "" outside a
// boundary. The result's [Report] and the log have the same id.
func RequestID(ctx context.Context) string {
	if c := callFrom(ctx); c != nil {
		return c.requestID
	}
	return ""
}

// requestIDFor is the client's own id if it is harmless, else the trace id, else a
// random one. An id goes into logs and results. One with control characters, markup
// or megabytes is ignored and not cleaned: a cleaned id would match nothing on the
// client's side.
func requestIDFor(meta mcp.Meta, extra *mcp.RequestExtra) string {
	if id, ok := meta[RequestIDKey].(string); ok && id != "" && len(id) <= maxRequestID && consistsOf(id, letters+digits+"-_.:") {
		return id
	}
	if parent, ok := meta["traceparent"].(string); ok {
		if id, ok := traceID(parent); ok {
			return id
		}
	}
	if extra != nil {
		if id, ok := traceID(extra.Header.Get("Traceparent")); ok {
			return id
		}
	}
	return rand.Text()
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// consistsOf reports whether a text has no characters but these.
func consistsOf(text, characters string) bool { return strings.Trim(text, characters) == "" }

// traceID is the second field of a W3C traceparent,
// version-traceid-parentid-flags.
func traceID(parent string) (string, bool) {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || consistsOf(parts[1], "0") || !consistsOf(parts[1], digits+"abcdef") {
		return "", false
	}
	return parts[1], true
}

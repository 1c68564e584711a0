package boundary

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/internal/faultlog"
)

// callKey is the context key of a call, by which layers inside find out that it is
// logged.
type callKey = faultlog.Key

// RecordsFaults implements [faultlog.Recorder].
func (c *call) RecordsFaults(ctx context.Context) bool {
	return c.sink != nil && c.sink.logger != nil && c.sink.logger.Enabled(ctx, slog.LevelError)
}

// A kind is one of the three methods that run an author's handler.
type kind struct {
	method string
	noun   string // at the beginning of a sentence
	attr   string // in the log
}

var (
	toolCall     = &kind{"tools/call", "Tool", "tool"}
	promptCall   = &kind{"prompts/get", "Prompt", "prompt"}
	resourceCall = &kind{"resources/read", "Resource", "resource"}
)

// A call is one request for a tool, a prompt or a resource, as the layers know it.
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
	tool      string   // the name of the tool or prompt, or the resource's URI
	requestID string
	start     time.Time
	sink      *sink // for records beside that of the call

	arguments json.RawMessage
	answers   int

	// modern and legacy do not come from era.Of, which tells whether the client can
	// be asked something. Here the question is how to encode a result and how long a
	// tool may run, and that has an answer for a client nobody can ask as well.

	// modern: a result made here must carry resultType, because the request's own
	// _meta names a modern revision, by which a strict client judges, or the session
	// does, by which go-sdk stamps its own results. A client that needs no resultType
	// ignores it.
	modern bool

	// legacy: the session asked for a revision in which a server asks its questions
	// while the request is open. _meta does not change that: go-sdk goes by the
	// session.
	legacy bool

	// mu guards the rest: an abandoned handler may still write to it while the
	// outer layers finish.
	mu            sync.Mutex
	def           *definition
	entered       bool // the handler, or middleware around it, was called
	ran           bool // a handler that Handler wraps was called
	applied       bool
	asked         bool
	outputChecked bool
	operations    []operation
	cause         string // of a protocol error, for the log
}

// callOf is the call of a request, or nil for a request that runs no author's handler.
func callOf(method string, req mcp.Request) *call {
	c := &call{req: req, start: time.Now()}
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		c.kind, c.session, c.extra = toolCall, r.Session, r.Extra
		if p := r.Params; p != nil {
			c.tool, c.meta, c.arguments, c.answers = p.Name, p.Meta, p.Arguments, len(p.InputResponses)
		}
	case *mcp.GetPromptRequest:
		c.kind, c.session, c.extra = promptCall, r.Session, r.Extra
		if p := r.Params; p != nil {
			c.tool, c.meta, c.answers = p.Name, p.Meta, len(p.InputResponses)
		}
	case *mcp.ReadResourceRequest:
		c.kind, c.session, c.extra = resourceCall, r.Session, r.Extra
		if p := r.Params; p != nil {
			c.tool, c.meta, c.answers = p.URI, p.Meta, len(p.InputResponses)
		}
	default:
		return nil
	}
	if c.kind.method != method {
		return nil
	}
	c.requestID = requestIDFor(c.meta, c.extra)
	c.legacy = isLegacy(c.session)
	c.modern = era.MetaVersion(c.meta) >= era.FirstModern || !c.legacy
	return c
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

func (c *call) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entered = true
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

// A principal is a client that authenticated itself. A sessionless one shares the
// rest with all clients that cannot be told apart: over HTTP without sessions each
// request has a session of its own.
type (
	principal   string
	sessionless struct{}
)

// client is by which this call's client is told from others, as a map's key.
func (c *call) client() any {
	switch {
	case c.extra != nil && c.extra.TokenInfo != nil && c.extra.TokenInfo.UserID != "":
		return principal(c.extra.TokenInfo.UserID)
	case c.oneRequestSession():
		return sessionless{}
	}
	return c.session
}

// oneRequestSession reports whether the session was made for this request alone.
func (c *call) oneRequestSession() bool {
	return c.session == nil || c.session.ID() == "" && c.extra != nil && c.extra.Header != nil
}

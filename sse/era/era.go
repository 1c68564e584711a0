// Package era reads off a request which revision it belongs to and which questions its
// client declared that it can answer.
//
// Revision 2026-07-28 of the Model Context Protocol replaced asking over the
// session by input-required results, so every request has to be placed before a
// handler asks anything: [Of] gives its [Era], [ClientOf] the capabilities too.
// [CapabilityFor] is the capability that a question needs, and [Client.Declared]
// whether the client has it.
package era

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// FirstModern is the revision that replaced asking over the session by
// input-required results. Revisions are dates, so they compare as strings.
const FirstModern = "2026-07-28"

// Era says how the client of one request can be asked something.
type Era int

const (
	// Unaskable is a request whose client nobody can ask: it belongs to no
	// modern round trip, and there is no stream that could carry a question.
	// That is a legacy client on a stateless server, and a client that asked for
	// 2026-07-28 (or a version nobody knows) in initialize and was negotiated
	// down, because go-sdk then takes it for modern and refuses to ask.
	Unaskable Era = iota
	// Legacy is a request of a legacy client that can be asked over its session,
	// as far as it declared the capability.
	Legacy
	// Modern is a request of 2026-07-28 or later: its client understands an
	// input-required result.
	Modern
)

func (e Era) String() string {
	return [...]string{"unaskable", "legacy", "modern"}[e]
}

// Of is the era of a request. It looks at two things, because neither
// will do alone: the version that the session requested, which decides whether
// go-sdk's own shim fires and whether [mcp.ServerSession.Elicit] refuses, and
// the version in the request's own _meta, which makes this request modern or not.
//
// A session that requested an older version is legacy even when _meta claims
// otherwise: an input-required result would set off the shim. A request
// without params or session is judged by the other one, and is Unaskable without
// both. Of allocates nothing.
func Of[P mcp.RequestParams](req *mcp.ServerRequest[P]) Era {
	return of(req.Session, sessionParams(req.Session), req.Extra, MetaVersion(requestMeta(req)))
}

// of is the era of a request with this session, and this version in its own _meta.
func of(s *mcp.ServerSession, initialize *mcp.InitializeParams, extra *mcp.RequestExtra, version string) Era {
	switch {
	case initialize != nil && initialize.ProtocolVersion < FirstModern:
		if canAsk(s, initialize, extra) {
			return Legacy
		}
	case version >= FirstModern:
		return Modern
	}
	return Unaskable
}

// canAsk reports whether a question can travel to the client of a legacy
// session. A stateless server makes up the session of each request, without
// capabilities; only a batch that brings its own initialize has some there, and
// is known by having come in a POST body while the session has no id.
func canAsk(s *mcp.ServerSession, initialize *mcp.InitializeParams, extra *mcp.RequestExtra) bool {
	if initialize.Capabilities == nil {
		return false
	}
	posted := extra != nil && extra.Header.Get("Content-Type") != ""
	return !posted || s.ID() != ""
}

func sessionParams(s *mcp.ServerSession) *mcp.InitializeParams {
	if s == nil {
		return nil
	}
	return s.InitializeParams()
}

// requestMeta is req.Params.GetMeta for params that may be absent: on a nil
// pointer the promoted method would panic.
func requestMeta[P mcp.RequestParams](req *mcp.ServerRequest[P]) map[string]any {
	var none P
	if any(req.Params) == nil || any(req.Params) == any(none) {
		return nil
	}
	return req.Params.GetMeta()
}

// MetaVersion is the protocol revision that a request's _meta names, "" where it
// names none.
func MetaVersion(meta map[string]any) string {
	v, _ := meta[mcp.MetaKeyProtocolVersion].(string)
	return v
}

// Client describes the client of one request.
type Client struct {
	Era Era
	// Version is the protocol revision of the request: its own _meta where that
	// names one, else the revision that the session requested in initialize, which
	// may be later than the one it was negotiated down to.
	Version string

	// The declared capabilities: form and url elicitation, sampling, sampling with
	// tools, roots. All are false where Era is Unaskable, because nobody needs them
	// there.
	Form, URL, Sampling, SamplingTools, Roots bool
}

// Narrowed is the client, less the capabilities that are not in to. Nothing is added: the
// client keeps its era and its revision, and lacks all that it did not declare itself.
func (c Client) Narrowed(to Client) Client {
	c.Form, c.URL, c.Roots = c.Form && to.Form, c.URL && to.URL, c.Roots && to.Roots
	c.Sampling = c.Sampling && to.Sampling
	c.SamplingTools = c.SamplingTools && to.SamplingTools && c.Sampling
	return c
}

// ClientOf returns the era of a request and the capabilities of its client: for a
// modern request those in its own _meta, for a legacy one those of its
// initialize, for an unaskable one none.
//
// go-sdk checks no capability before it sends an input-required result, so
// code that asks a modern client must look here first.
func ClientOf[P mcp.RequestParams](req *mcp.ServerRequest[P]) Client {
	session := sessionParams(req.Session)
	meta := requestMeta(req)
	c := Client{Version: MetaVersion(meta)}
	c.Era = of(req.Session, session, req.Extra, c.Version)
	if c.Version == "" && session != nil {
		c.Version = session.ProtocolVersion
	}
	switch c.Era {
	case Legacy:
		c.declare(session.Capabilities)
	case Modern:
		switch caps := meta[mcp.MetaKeyClientCapabilities].(type) {
		case map[string]any:
			c.declareWire(caps)
		case *mcp.ClientCapabilities:
			c.declare(caps)
		}
	}
	return c
}

// OfSession describes the client of a session that is not modern: Legacy with the
// capabilities of its initialize, or Unaskable.
func OfSession(session *mcp.ServerSession) Client {
	var c Client
	if initialize := sessionParams(session); initialize != nil && initialize.ProtocolVersion < FirstModern && initialize.Capabilities != nil {
		c.Era, c.Version = Legacy, initialize.ProtocolVersion
		c.declare(initialize.Capabilities)
	}
	return c
}

func (c *Client) declare(caps *mcp.ClientCapabilities) {
	if caps == nil {
		return
	}
	if e := caps.Elicitation; e != nil {
		c.URL = e.URL != nil
		c.Form = e.Form != nil || !c.URL
	}
	if s := caps.Sampling; s != nil {
		c.Sampling = true
		c.SamplingTools = s.Tools != nil
	}
	c.Roots = caps.RootsV2 != nil
}

// declareWire reads the capabilities as they arrived. [mcp.ServerRequest]'s own
// accessor encodes and decodes them anew on every call, and finds roots in any
// that were put there as a Go value.
func (c *Client) declareWire(caps map[string]any) {
	if e, ok := caps["elicitation"].(map[string]any); ok {
		c.URL = e["url"] != nil
		c.Form = e["form"] != nil || !c.URL
	}
	if s, ok := caps["sampling"].(map[string]any); ok {
		c.Sampling = true
		c.SamplingTools = s["tools"] != nil
	}
	c.Roots = caps["roots"] != nil
}

// Capability is something that a client declares it can be asked.
type Capability int

const (
	NoCapability    Capability = iota // of a request that no client can be sent
	FormElicitation                   // a form for the user to fill in
	URLElicitation                    // an address for the user to visit
	Sampling                          // a message from the client's model
	SamplingTools                     // the same, with tools for the model to use
	Roots                             // the folders that the client works in
)

var capabilities = [...]struct{ name, wire string }{
	FormElicitation: {"form elicitation", `{"elicitation":{"form":{}}}`},
	URLElicitation:  {"url elicitation", `{"elicitation":{"url":{}}}`},
	Sampling:        {"sampling", `{"sampling":{}}`},
	SamplingTools:   {"sampling with tools", `{"sampling":{"tools":{}}}`},
	Roots:           {"roots", `{"roots":{}}`},
}

// String names the capability in words.
func (c Capability) String() string { return capabilities[c].name }

// Wire is the capability as a client declares it, a JSON object.
func (c Capability) Wire() string { return capabilities[c].wire }

// CapabilityFor is the capability that a client must have declared before q may be
// sent to it, and NoCapability for a q that cannot be sent: nil, or of an unknown type.
func CapabilityFor(q mcp.InputRequest) Capability {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		switch {
		case q == nil:
		case IsURL(q):
			return URLElicitation
		default:
			return FormElicitation
		}
	case *mcp.CreateMessageParams:
		if q != nil {
			return Sampling
		}
	case *mcp.CreateMessageWithToolsParams:
		switch {
		case q == nil:
		case len(q.Tools) > 0 || q.ToolChoice != nil:
			return SamplingTools
		default:
			return Sampling
		}
	case *mcp.ListRootsParams:
		return Roots
	}
	return NoCapability
}

// IsURL reports whether an elicitation asks for a visit to an address.
func IsURL(q *mcp.ElicitParams) bool {
	return q.Mode == "url" || q.Mode == "" && (q.URL != "" || q.ElicitationID != "")
}

// Declared reports whether the client declared the capability.
func (c Client) Declared(capability Capability) bool {
	return [...]bool{FormElicitation: c.Form, URLElicitation: c.URL, Sampling: c.Sampling, SamplingTools: c.SamplingTools, Roots: c.Roots}[capability]
}

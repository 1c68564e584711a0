// Package era reads off a request which revision it belongs to and which questions its
// client declared that it can answer.
//
// Revision 2026-07-28 of the Model Context Protocol replaced asking over the
// session by input-required results, so every request has to be placed before a
// handler asks anything: [Of] gives its [Era], [ClientOf] the capabilities too.
// [CapabilityFor] is the capability that a question needs, and [Client.Declared]
// whether the client has it.
package era

import "github.com/modelcontextprotocol/go-sdk/mcp"

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

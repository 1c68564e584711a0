package era

import "github.com/modelcontextprotocol/go-sdk/mcp"

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

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

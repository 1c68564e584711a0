package era

import "github.com/modelcontextprotocol/go-sdk/mcp"

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
// sent to it, and NoCapability where q cannot be sent: it is nil, or of an unknown
// type.
func CapabilityFor(q mcp.InputRequest) Capability {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		switch {
		case q == nil:
			return NoCapability
		case IsURL(q):
			return URLElicitation
		}
		return FormElicitation
	case *mcp.CreateMessageParams:
		if q == nil {
			return NoCapability
		}
		return Sampling
	case *mcp.CreateMessageWithToolsParams:
		switch {
		case q == nil:
			return NoCapability
		case len(q.Tools) > 0 || q.ToolChoice != nil:
			return SamplingTools
		}
		return Sampling
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
	switch capability {
	case FormElicitation:
		return c.Form
	case URLElicitation:
		return c.URL
	case Sampling:
		return c.Sampling
	case SamplingTools:
		return c.SamplingTools
	case Roots:
		return c.Roots
	}
	return false
}

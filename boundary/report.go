package boundary

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MetaKey is the one key in a result's _meta that is the boundary's. Under it
// lies a [Face].
const MetaKey = "io.github.mrtr-go/boundary"

// A Face is what the boundary says of a call beside its result. The first three
// are in every complete result and every error result, the others in errors only.
type Face struct {
	Tool       string  `json:"tool"`
	RequestID  string  `json:"requestId"`
	DurationMS float64 `json:"durationMs"`

	Type       string       `json:"type,omitempty"`
	Code       string       `json:"code,omitempty"`
	Expected   *bool        `json:"expected,omitempty"`
	Hints      []string     `json:"hints,omitempty"`
	Fields     []FieldError `json:"fields,omitempty"`
	Operation  string       `json:"operation,omitempty"`
	Selector   string       `json:"selector,omitempty"`
	Candidates []string     `json:"candidates,omitempty"`
	Effect     string       `json:"effect,omitempty"`
}

// FaceOf reads the face of a result, on a client or in process. It is false for a
// result that no boundary made, and for an input_required one.
func FaceOf(res *mcp.CallToolResult) (Face, bool) {
	if res == nil {
		return Face{}, false
	}
	switch v := res.Meta[MetaKey].(type) {
	case nil:
		return Face{}, false
	case *Face:
		return *v, true
	default:
		var f Face
		data, err := json.Marshal(v)
		if err != nil || json.Unmarshal(data, &f) != nil {
			return Face{}, false
		}
		return f, true
	}
}

// face writes the boundary's key into a _meta of the result's own: the handler's
// map may be shared between calls, and the SDK will write to whatever it finds.
func (c *call) face(res *mcp.CallToolResult, p *problem, bareKeys bool) {
	meta := make(mcp.Meta, len(res.Meta)+2)
	maps.Copy(meta, res.Meta)
	f := &Face{Tool: c.tool, RequestID: c.requestID, DurationMS: milliseconds(time.Since(c.start))}
	if p != nil {
		f.Type, f.Code, f.Expected = p.kind, p.code, &p.expected
		f.Hints, f.Fields = p.hints, p.fields
		f.Operation, f.Selector, f.Candidates = p.operation, p.selector, p.candidates
		f.Effect = p.effect
		if bareKeys {
			meta["error_type"] = p.kind
			meta["expected"] = p.expected
			if len(p.hints) > 0 {
				meta["suggestion"] = strings.Join(p.hints, " ")
			}
		}
	}
	meta[MetaKey] = f
	res.Meta = meta
}

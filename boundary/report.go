package boundary

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
)

// MetaKey is the key in a result's _meta that holds the boundary's [Report].
const MetaKey = "io.github.mrtr-go/boundary"

// A Report is the metadata that the boundary puts under [MetaKey]. The first three
// fields are in every complete result and every error result, the others in error
// results alone.
type Report struct {
	Tool       string  `json:"tool"`
	RequestID  string  `json:"requestId"`
	DurationMS float64 `json:"durationMs"`

	Type       string       `json:"type,omitempty"`       // such as "not_found", "timeout", "internal"
	Code       string       `json:"code,omitempty"`       // the author's own
	Expected   *bool        `json:"expected,omitempty"`   // the agent can correct it; set in every error
	Hints      []string     `json:"hints,omitempty"`      // sentences on what to try next
	Fields     []FieldError `json:"fields,omitempty"`     // problems of the arguments
	Operation  string       `json:"operation,omitempty"`  // the operation that failed
	Selector   string       `json:"selector,omitempty"`   // the argument that did not select one thing
	Candidates []string     `json:"candidates,omitempty"` // and values that would
	Effect     string       `json:"effect,omitempty"`     // "applied", "unknown" or "undone"; empty if none is known of
}

// ReportOf reads the report of a result, in a client or in process. It is false for
// an input_required result and for one that no boundary made.
func ReportOf(res *mcp.CallToolResult) (Report, bool) {
	if res == nil {
		return Report{}, false
	}
	switch v := res.Meta[MetaKey].(type) {
	case nil:
		return Report{}, false
	case *Report:
		return *v, true
	default:
		var f Report
		data, err := json.Marshal(v)
		if err != nil || json.Unmarshal(data, &f) != nil {
			return Report{}, false
		}
		return f, true
	}
}

// The bounds of a report. An author's error may carry anything, and may quote the
// client's request.
const (
	maxReported       = 256 // bytes of a name or a candidate
	maxReportedText   = 2 << 10
	maxReportedHints  = 20
	maxReportedFields = 50
)

// bound cuts the parts of an author's error that a report repeats.
func (f *failure) bound() {
	for _, name := range []*string{&f.kind, &f.code, &f.operation, &f.selector} {
		*name = truncated(*name, maxReported)
	}
	f.candidates = shortened(f.candidates, maxCandidates, maxReported)
	f.hints = shortened(f.hints, maxReportedHints, maxReportedText)
	f.fields = slices.Clone(f.fields[:min(len(f.fields), maxReportedFields)])
	for i, field := range f.fields {
		f.fields[i] = FieldError{
			Pointer: truncated(field.Pointer, maxReportedText),
			Problem: truncated(field.Problem, maxReportedText),
			Hint:    truncated(field.Hint, maxReportedText),
		}
	}
}

func shortened(texts []string, most, bytes int) []string {
	texts = slices.Clone(texts[:min(len(texts), most)])
	for i, text := range texts {
		texts[i] = truncated(text, bytes)
	}
	return texts
}

// addReport puts the report into the _meta of a result that was made here.
func (c *call) addReport(res *mcp.CallToolResult, f *failure) {
	if res.Meta == nil {
		res.Meta = make(mcp.Meta, 2) // go-sdk adds the server's name
	}
	r := &Report{Tool: c.loggedTool(), RequestID: c.requestID, DurationMS: rendezvous.Milliseconds(time.Since(c.start))}
	if f != nil {
		r.Type, r.Code, r.Expected = f.kind, f.code, &f.expected
		r.Hints, r.Fields = f.hints, f.fields
		r.Operation, r.Selector, r.Candidates = f.operation, f.selector, f.candidates
		r.Effect = f.effect
	}
	res.Meta[MetaKey] = r
}

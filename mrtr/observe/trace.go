package observe

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// cut bounds a text that a client wrote.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// A Trace is a W3C trace context: the place of a request or round in a trace. The zero value
// is no place.
type Trace struct {
	// Parent is a traceparent of version 00, or "".
	Parent string
	// State is the tracestate beside it: of 512 bytes at most, or "".
	State string
}

// maxTraceState is the length up to which the specification asks everybody to pass a
// tracestate on. A longer one is left out.
const maxTraceState = 512

// maxBaggage is the same for baggage.
const maxBaggage = 8192

// traceOf is the trace context of a request, in its _meta or in the headers of HTTP.
func traceOf(req mcp.Request) Trace {
	var meta map[string]any
	if req != nil && req.GetParams() != nil {
		meta = req.GetParams().GetMeta()
	}
	if parent, ok := meta["traceparent"].(string); ok && isTraceParent(parent) {
		state, _ := meta["tracestate"].(string)
		return Trace{Parent: parent, State: bounded(state, maxTraceState)}
	}
	if req == nil {
		return Trace{}
	}
	if extra := req.GetExtra(); extra != nil {
		if parent := extra.Header.Get("Traceparent"); isTraceParent(parent) {
			return Trace{Parent: parent, State: bounded(strings.Join(extra.Header.Values("Tracestate"), ","), maxTraceState)}
		}
	}
	return Trace{}
}

// baggageOf is the W3C baggage of a request, from the same places.
func baggageOf(req mcp.Request) string {
	if req == nil {
		return ""
	}
	if params := req.GetParams(); params != nil {
		if text, ok := params.GetMeta()["baggage"].(string); ok {
			return bounded(text, maxBaggage)
		}
	}
	if extra := req.GetExtra(); extra != nil {
		return bounded(strings.Join(extra.Header.Values("Baggage"), ","), maxBaggage)
	}
	return ""
}

// bounded returns a text that may travel on, or "" if it is too long or not printable ASCII. The
// tracer judges its grammar.
func bounded(text string, most int) string {
	if len(text) > most || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return text
}

// isTraceParent reports whether a text is the trace parent of version 00, which has one
// length: version, trace id, parent id and flags, in lower case hexadecimal.
func isTraceParent(text string) bool {
	const form = "00-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx"
	if len(text) != len(form) {
		return false
	}
	for i := range len(form) {
		switch c := text[i]; form[i] {
		case 'x':
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		default:
			if c != form[i] {
				return false
			}
		}
	}
	return strings.Trim(text[3:35], "0") != "" && strings.Trim(text[36:52], "0") != ""
}

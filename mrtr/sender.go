package mrtr

import (
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/statecodec"
)

// sender holds the facts of a request that are for the observer alone. A runtime
// without an observer makes none.
type sender struct {
	trace  string // the trace parent of round one, "" where it had none
	client string
	waited time.Duration
}

// identify notes the facts of the request for the observer.
func (c *Call) identify() {
	if c.rt.observer == nil {
		return
	}
	seen := &sender{client: clientName(c.ex)}
	if c.st.seen != nil {
		seen.trace = c.st.seen.trace
	}
	if issued, ok := statecodec.Issued(c.ex.token); ok {
		seen.waited = max(0, time.Since(issued))
	}
	c.st.see(seen)
}

// clientName is the name and version that the client gives itself: in the request,
// or in the initialize of its session.
func clientName(ex exchange) string {
	name, version := "", ""
	switch info := requestMeta(ex.request)[mcp.MetaKeyClientInfo].(type) {
	case map[string]any:
		name, _ = info["name"].(string)
		version, _ = info["version"].(string)
	case *mcp.Implementation:
		if info != nil {
			name, version = info.Name, info.Version
		}
	default:
		if ex.session == nil {
			break
		}
		if p := ex.session.InitializeParams(); p != nil && p.ClientInfo != nil {
			name, version = p.ClientInfo.Name, p.ClientInfo.Version
		}
	}
	return cut(strings.TrimSpace(cut(name, maxClientInLog)+" "+cut(version, maxClientInLog)), maxClientInLog)
}

// requestMeta is the _meta of a request, nil for one without.
func requestMeta(req mcp.Request) map[string]any {
	if req == nil || req.GetParams() == nil {
		return nil
	}
	return req.GetParams().GetMeta()
}

// traceParent is the W3C trace parent of a request, in its _meta or as the header of
// HTTP, "" where there is none that can be read.
func traceParent(req mcp.Request) string {
	if parent, ok := requestMeta(req)["traceparent"].(string); ok && isTraceParent(parent) {
		return parent
	}
	if req == nil {
		return ""
	}
	if extra := req.GetExtra(); extra != nil {
		if parent := extra.Header.Get("Traceparent"); isTraceParent(parent) {
			return parent
		}
	}
	return ""
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

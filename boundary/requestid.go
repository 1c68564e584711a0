package boundary

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// RequestIDKey is the _meta key for a client's own id of a request: at most 64
// letters, digits, or "-_.:". Any other id is ignored.
const RequestIDKey = "io.github.mrtr-go/requestId"

const maxRequestID = 64

// RequestID returns the id of the call that ctx belongs to, or "" outside a
// boundary. The result's [Report] and the log have the same id.
func RequestID(ctx context.Context) string {
	if c := callFrom(ctx); c != nil {
		return c.requestID
	}
	return ""
}

// requestIDFor is the client's own id if it is harmless, else the trace id, else a
// random one. An id goes into logs and results. One with control characters, markup
// or megabytes is ignored and not cleaned: a cleaned id would match nothing on the
// client's side.
func requestIDFor(meta mcp.Meta, extra *mcp.RequestExtra) string {
	if id, ok := meta[RequestIDKey].(string); ok && harmlessID(id) {
		return id
	}
	if parent, ok := meta["traceparent"].(string); ok {
		if id, ok := traceID(parent); ok {
			return id
		}
	}
	if extra != nil {
		if id, ok := traceID(extra.Header.Get("Traceparent")); ok {
			return id
		}
	}
	return rand.Text()
}

func harmlessID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		c := id[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && c != '-' && c != '_' && c != '.' && c != ':' {
			return false
		}
	}
	return true
}

// traceID is the second field of a W3C traceparent,
// version-traceid-parentid-flags.
func traceID(parent string) (string, bool) {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0") == "" {
		return "", false
	}
	if strings.Trim(parts[1], "0123456789abcdef") != "" {
		return "", false
	}
	return parts[1], true
}

package mcphttp

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
)

func refuseWork(w http.ResponseWriter) {
	refusedBy(w, byShutdown)
	inflight.Refuse(w.Header())
	http.Error(w, "shutting down", http.StatusServiceUnavailable)
}

func refuseMalformed(w http.ResponseWriter, err error) {
	if errors.Is(err, errLongBatch) {
		refusedBy(w, bySize)
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	refusedBy(w, byForm)
	http.Error(w, fmt.Sprintf("malformed payload: %v", err), http.StatusBadRequest)
}

// refuseCalls refuses a body whose calls would be too many: with 503 if the
// server has too many in flight, with 429 if the client has. A single call is
// answered by its id, so that a client fails that call and nothing else.
func refuseCalls(w http.ResponseWriter, raw []byte, err error) {
	status, reason := http.StatusTooManyRequests, byShare
	if errors.Is(err, inflight.ErrFull) {
		status, reason = http.StatusServiceUnavailable, byLoad
	}
	refusedBy(w, reason)
	w.Header().Set("Retry-After", "1")
	if message, decodeErr := jsonrpc.DecodeMessage(raw); decodeErr == nil {
		if call, ok := message.(*jsonrpc.Request); ok && call.IsCall() {
			refusal := &jsonrpc.Response{ID: call.ID, Error: &jsonrpc.Error{Code: inflight.CodeBusy, Message: err.Error()}}
			if body, encodeErr := jsonrpc.EncodeMessage(refusal); encodeErr == nil {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = w.Write(body) // who does not read it hears nothing
				return
			}
		}
	}
	http.Error(w, err.Error(), status)
}

// The reasons of [HandlerOptions.Refused].
const (
	byHost      = "host"      // the Host header names another server
	byOrigin    = "origin"    // the request is that of a foreign page
	bySize      = "size"      // the body, the batch or the initialize message is too large
	byTime      = "slow"      // the body took too long
	byForm      = "malformed" // it is no JSON-RPC
	byAmbiguity = "ambiguous" // two readers may understand it differently, or it is nested too deep
	byVersion   = "version"   // the protocol version is not served
	byLoad      = "overload"  // too much is in flight, or too many sessions are open
	byShare     = "share"     // too much of it is the client's
	byShutdown  = "shutdown"
)

// A doorkeeper is the writer of a request by which its refusal is told.
type doorkeeper struct {
	http.ResponseWriter
	tell    func(reason string)
	refused bool // by go-sdk, with 400
}

// Unwrap leads [http.ResponseController] to the writer that flushes.
func (d *doorkeeper) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *doorkeeper) WriteHeader(status int) {
	d.refused = status == http.StatusBadRequest
	d.ResponseWriter.WriteHeader(status)
}

// Write finds the refusals that are go-sdk's own.
func (d *doorkeeper) Write(p []byte) (int, error) {
	if d.refused {
		switch {
		case bytes.Contains(p, []byte(`"code":-32022`)), bytes.Contains(p, []byte("Unsupported protocol version")):
			d.note(byVersion)
		case bytes.Contains(p, []byte(`"code":-32020`)): // headers and body disagree
			d.note(byAmbiguity)
		}
	}
	return d.ResponseWriter.Write(p)
}

func (d *doorkeeper) note(reason string) {
	d.refused = false
	if d.tell != nil {
		d.tell(reason)
		d.tell = nil // one request, one refusal
	}
}

// refusedBy tells why a request is refused, if anybody wants to know.
func refusedBy(w http.ResponseWriter, reason string) {
	for {
		switch outer := w.(type) {
		case *doorkeeper:
			outer.note(reason)
			return
		case *reply:
			w = outer.w
		case interface{ Unwrap() http.ResponseWriter }:
			w = outer.Unwrap()
		default:
			return
		}
	}
}

// exposed are the response headers that the script of a page may read.
const exposed = "Mcp-Session-Id, Mcp-Protocol-Version, Retry-After, WWW-Authenticate"

// WithCORS lets pages of [HandlerOptions.AllowedOrigins] use next: it answers their
// preflight requests and adds the headers of the CORS protocol to the responses.
// The handler does so for itself. A server that authenticates in front of it needs
// WithCORS in front of that, because a preflight carries no token, and a page
// cannot read a refusal without these headers:
//
//	http.Handle("/mcp", h.WithCORS(auth.RequireBearerToken(verify, nil)(h)))
//
// Cookies are not allowed across origins: a page sends its token in a header.
func (h *Handler) WithCORS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.guard.Check(r) == nil && h.preflight(w, r) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// preflight adds the headers to the response to a page of a listed origin, and
// reports whether that was all that the request asked for. The request has passed
// the guard.
func (h *Handler) preflight(w http.ResponseWriter, r *http.Request) bool {
	if !h.guard.Lists() {
		return false
	}
	header := w.Header()
	header.Set("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !h.guard.Listed(origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", exposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	// A tool may name headers of its own (Mcp-Param-...), and the origin is trusted.
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		header.Set("Access-Control-Allow-Headers", asked)
	}
	header.Set("Access-Control-Max-Age", "7200")
	w.WriteHeader(http.StatusNoContent)
	return true
}

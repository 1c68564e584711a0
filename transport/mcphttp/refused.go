package mcphttp

import (
	"bytes"
	"net/http"
)

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

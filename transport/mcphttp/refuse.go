package mcphttp

import (
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

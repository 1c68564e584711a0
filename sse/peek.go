package sse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callID is the id of a JSON-RPC call as it stood in the body.
type callID = json.RawMessage

// contents is what routing must know of a body.
type contents struct {
	modern bool     // a call whose _meta names a modern revision
	calls  []callID // requests that await a response
}

// peek reads as much of a body as routing needs. It finds nothing in a body that
// is no JSON-RPC: to refuse that, with the right words, is go-sdk's.
func peek(body []byte) contents {
	// go-sdk reads the first JSON value of a body and overlooks what follows.
	var first json.RawMessage
	if json.NewDecoder(bytes.NewReader(body)).Decode(&first) != nil {
		return contents{}
	}
	messages := []json.RawMessage{first}
	if first[0] == '[' && json.Unmarshal(first, &messages) != nil {
		return contents{}
	}
	var found contents
	for _, raw := range messages {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(raw, &m) != nil || m.Method == "" || len(m.ID) == 0 {
			continue
		}
		found.calls = append(found.calls, m.ID)
		var params struct {
			Meta map[string]any `json:"_meta"`
		}
		if json.Unmarshal(m.Params, &params) == nil && metaVersion(params.Meta) >= firstModern {
			found.modern = true
		}
	}
	return found
}

// readBody takes in the body of a POST and puts it back for the next reader. It
// has answered the request where it returns false.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			http.Error(w, fmt.Sprintf("request body exceeds %d bytes", limit), http.StatusRequestEntityTooLarge)
		} else {
			http.Error(w, "failed to read body", http.StatusBadRequest)
		}
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

// cancelCalls tells the session of a request whose client hung up that its calls
// are cancelled, in the words the client would have used. An id that was
// answered in the meantime is no longer known and nothing happens to it.
func (h *Handler) cancelCalls(r *http.Request, calls []callID) {
	for _, id := range calls {
		body, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0",
			"method":  "notifications/cancelled",
			"params":  &mcp.CancelledParams{RequestID: id, Reason: "the client hung up"},
		})
		if err != nil {
			continue // not an id that go-sdk could have accepted
		}
		notice := r.Clone(context.WithoutCancel(r.Context()))
		notice.Body = io.NopCloser(bytes.NewReader(body))
		notice.ContentLength = int64(len(body))
		h.stateful.ServeHTTP(discard{}, notice)
	}
}

// discard is where the response to a request of our own goes.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

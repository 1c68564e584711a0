package mcphttp

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// cancelCalls cancels the calls of a request whose client hung up, by sending the
// session the notification that the client would have sent. An id that was
// answered in the meantime is unknown by now, and go-sdk ignores it.
func (h *Handler) cancelCalls(r *http.Request, session string, calls []jsonrpc.ID) {
	notice := sessionRequest(r.Context(), http.MethodPost, session, cancellation(calls))
	notice.Header.Set(versionHeader, r.Header.Get(versionHeader))
	h.stateful.ServeHTTP(discard{}, notice)
}

// cancellation is the body that cancels calls. It is a batch only where there
// are several, which came in one batch themselves: later revisions refuse any.
func cancellation(calls []jsonrpc.ID) []byte {
	notices := make([][]byte, 0, len(calls))
	for _, id := range calls {
		// It holds strings and numbers alone, whose encoding cannot fail.
		params, _ := json.Marshal(&mcp.CancelledParams{RequestID: id.Raw(), Reason: "the client hung up"})
		notice, _ := jsonrpc.EncodeMessage(&jsonrpc.Request{Method: "notifications/cancelled", Params: params})
		notices = append(notices, notice)
	}
	if len(notices) == 1 {
		return notices[0]
	}
	return bytes.Join([][]byte{[]byte("["), bytes.Join(notices, []byte(",")), []byte("]")}, nil)
}

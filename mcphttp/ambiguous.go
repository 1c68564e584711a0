package mcphttp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/message"
)

// settleAmbiguous deals with answers that have a member twice, of which go-sdk would
// take the last without a word. It refuses a call, and reports so. The answer of a
// legacy client becomes an error, so that its question ends: then it returns the body
// that go-sdk is to get instead.
func settleAmbiguous(w http.ResponseWriter, messages []json.RawMessage) (body []byte, refused bool) {
	changed := false
	for i, raw := range messages {
		name, found := message.Ambiguous(raw)
		if !found {
			continue
		}
		decoded, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			continue // go-sdk refuses it
		}
		refusal := message.AmbiguousError(name)
		switch decoded := decoded.(type) {
		case *jsonrpc.Request:
			if decoded.IsCall() {
				writeError(w, idOf(raw), refusal.Code, refusal.Message)
				return nil, true
			}
		case *jsonrpc.Response:
			if failure, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: decoded.ID, Error: refusal}); err == nil {
				messages[i], changed = failure, true
			}
		}
	}
	switch {
	case !changed:
		return nil, false
	case len(messages) == 1:
		return messages[0], false
	}
	return slices.Concat([]byte("["), join(messages), []byte("]")), false
}

func join(messages []json.RawMessage) []byte {
	parts := make([][]byte, len(messages))
	for i, raw := range messages {
		parts[i] = raw
	}
	return bytes.Join(parts, []byte(","))
}

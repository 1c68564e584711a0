package mrtrtest

import (
	"encoding/json"

	"github.com/mrtr-go/sdk/internal/wire"
)

// masked replaces the two parts in which the messages of equal calls may
// differ:
//
//   - the id, which numbers the messages of one connection: a call over several
//     instances has several connections;
//   - requestState, which the protocol makes opaque to clients: it is sealed
//     with a nonce and holds times.
//
// Their presence stays visible, and everything else is kept as it was sent.
func masked(raw json.RawMessage) (string, error) {
	var message map[string]json.RawMessage
	if err := json.Unmarshal(raw, &message); err != nil {
		return "", err
	}
	if message["id"] != nil {
		message["id"] = mask
	}
	for _, part := range []string{"params", "result"} {
		var fields map[string]json.RawMessage
		if json.Unmarshal(message[part], &fields) != nil || fields["requestState"] == nil {
			continue
		}
		fields["requestState"] = mask
		whole, err := json.Marshal(fields)
		if err != nil {
			return "", err
		}
		message[part] = whole
	}
	text, err := json.Marshal(message)
	return string(text), err
}

var mask = json.RawMessage(`"*"`)

// settled counts the messages that are no notifications. A server acts on the
// request, or on the answer, that it had last, so their number says how far a call
// has come. A notification may still be on its way to the client.
func settled(messages []wire.Message) int {
	n := 0
	for _, m := range messages {
		if isSettled(m.JSON) {
			n++
		}
	}
	return n
}

func isSettled(message []byte) bool {
	var fields struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(message, &fields) // the client encoded it
	return fields.ID != nil
}

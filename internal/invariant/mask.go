package invariant

import "encoding/json"

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

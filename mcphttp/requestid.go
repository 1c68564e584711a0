package mcphttp

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// wholeFloats bounds the numbers that a float64 holds one by one.
const wholeFloats = 1 << 53

// refuseAltered reports whether it has refused messages with an id that go-sdk would
// alter.
func refuseAltered(w http.ResponseWriter, messages []json.RawMessage) bool {
	id := alteredID(messages)
	if id == nil {
		return false
	}
	writeError(w, id, jsonrpc.CodeInvalidRequest, "invalid id: "+
		"a number must be whole and within 2^53, or its answer cannot be told from others; use a string")
	return true
}

// alteredID is the first id that go-sdk would answer under another
// value; nil where there is none. It reads a number as a float64 and cuts off its
// fraction, so a client that counts beyond 2^53 never recognizes the answer, and
// two requests of a session become one. Such a call is refused before it has an
// effect.
func alteredID(messages []json.RawMessage) json.RawMessage {
	for _, message := range messages {
		if id := idOf(message); !survives(id) {
			return id
		}
	}
	return nil
}

// idOf reads the last member that is named id, as go-sdk does.
func idOf(message []byte) json.RawMessage {
	if id, ok := scanID(message); ok {
		return id
	}
	d := json.NewDecoder(bytes.NewReader(message))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var id, other json.RawMessage
	for n := 0; d.More() && n < maxMembers; n++ {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		if d.Decode(&other) != nil {
			return nil
		}
		if name == "id" {
			id = bytes.Clone(other)
		}
	}
	return id
}

// scanID is idOf for a message in which nothing is unusual.
func scanID(message []byte) (id json.RawMessage, ok bool) {
	s, members := jsontext.Scan(message), 0
	ok = s.Object(func(name []byte) bool {
		if members++; string(name) != "id" {
			return s.Value()
		}
		var ok bool
		id, ok = s.Raw(s.Value)
		return ok
	})
	return id, ok && members < maxMembers
}

// survives reports whether go-sdk keeps the value of an id. Null, a string and
// values that are no id at all are not this function's matter.
func survives(id json.RawMessage) bool {
	if len(id) == 0 || id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return true
	}
	f, err := strconv.ParseFloat(string(id), 64)
	if err != nil || f != math.Trunc(f) {
		return false
	}
	if math.Abs(f) < wholeFloats {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && f < math.MaxInt64 && int64(f) == n
}

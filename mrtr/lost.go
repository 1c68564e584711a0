package mrtr

import (
	"bytes"
	"encoding/json"
	"strings"
)

// lost says what a deployment took from a value that an earlier round of the call made, to be
// read into today's type: "" if nothing. JSON drops a field that the type does not have, so one
// that was renamed would be zero, and a handler would pay a booking without its number. A
// field that was added is zero.
func (c *Call) lost(value json.RawMessage, today any) string {
	c.mu.Lock()
	changed := c.changed()
	c.mu.Unlock()
	if !changed || len(value) == 0 {
		return ""
	}
	strict := json.NewDecoder(bytes.NewReader(value))
	strict.DisallowUnknownFields()
	err := strict.Decode(today)
	if err == nil {
		return ""
	}
	if field, gone := strings.CutPrefix(err.Error(), "json: unknown field "); gone {
		return "has lost its field " + field
	}
	return "is of another type"
}

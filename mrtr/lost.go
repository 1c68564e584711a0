package mrtr

import (
	"bytes"
	"encoding/json"
	"strings"
)

// lost describes how today's type fails to hold a value from an earlier round, made before a
// deployment: "" if nothing is lost. JSON ignores fields that the type lacks, so a renamed field
// would silently be zero, and a handler would pay for a booking without its number. A field
// that the deployment added is zero, and not a loss.
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

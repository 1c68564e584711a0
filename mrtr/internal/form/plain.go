package form

import (
	"bytes"
	"encoding/json"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/plaintext"
)

// Plain puts the titles and descriptions of a form through [plaintext.Text]. Everything
// else stays byte for byte: values and the names of properties, since answers are
// compared with them. A schema with nothing to replace is returned itself.
func Plain(schema json.RawMessage) json.RawMessage {
	if bytes.IndexByte(schema, '\\') < 0 && bytes.IndexFunc(schema, plaintext.Steers) < 0 {
		return schema
	}
	plain, _ := plainIn("", schema)
	return plain
}

// plainIn is Plain for the value of a member.
func plainIn(name string, value json.RawMessage) (_ json.RawMessage, changed bool) {
	w := jsontext.Walk(value, jsontext.MaxDepth)
	switch w.Kind() {
	case '"':
		var text string
		if !shown[name] || json.Unmarshal(value, &text) != nil {
			return value, false
		}
		if plain := plaintext.Text(text); plain != text {
			return jsontext.AppendString(nil, plain), true
		}
	case '{':
		object, err := membersOf(value)
		if err != nil {
			return value, false
		}
		for i, m := range object {
			plain, one := plainIn(m.name, m.value)
			object[i].value, changed = plain, changed || one
		}
		if changed {
			return object.encode(), true
		}
	case '[':
		list := json.RawMessage{'['}
		for i := range w.Elements {
			if i > 0 {
				list = append(list, ',')
			}
			plain, one := plainIn(name, w.Value())
			list, changed = append(list, plain...), changed || one
		}
		if changed {
			return append(list, ']'), true
		}
	}
	return value, false
}

// shown are the members of a schema that are text for the user, where they are strings.
var shown = map[string]bool{"title": true, "description": true, "enumNames": true}

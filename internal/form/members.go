package form

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// members are those of a JSON object in their order, which a map would lose. The
// order of a form's fields matters to people.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

func membersOf(object json.RawMessage) (members, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("its schema is not a JSON object")
	}
	var all members
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("its schema cannot be read: %v", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("its schema cannot be read: %v", err)
		}
		all = append(all, member{name.(string), value})
	}
	return all, nil
}

// get is the value of a member, nil where there is none.
func (m members) get(name string) json.RawMessage {
	for _, one := range m {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

// set replaces a member, or adds it at the end.
func (m members) set(name string, value json.RawMessage) members {
	for i := range m {
		if m[i].name == name {
			m[i].value = value
			return m
		}
	}
	return append(m, member{name, value})
}

func (m members) encode() json.RawMessage {
	s := json.RawMessage{'{'}
	for i, one := range m {
		if i > 0 {
			s = append(s, ',')
		}
		s = append(jsontext.AppendString(s, one.name), ':')
		s = append(s, one.value...)
	}
	return append(s, '}')
}

// Prefill puts the values of an answer into a form as its defaults, so that the user
// finds them filled in. A value that is empty leaves its property empty; one for a
// property that the form lacks is an error.
func Prefill(schema, answer json.RawMessage) (json.RawMessage, error) {
	form, err := membersOf(schema)
	if err != nil {
		return nil, err
	}
	properties, err := membersOf(form.get("properties"))
	if err != nil {
		return nil, err
	}
	values, err := membersOf(answer)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if isEmpty(v.value) {
			continue
		}
		described := properties.get(v.name)
		if described == nil {
			return nil, fmt.Errorf("the form has no property %q", v.name)
		}
		property, err := membersOf(described)
		if err != nil {
			return nil, err
		}
		properties.set(v.name, property.set("default", v.value).encode())
	}
	return form.set("properties", properties.encode()).encode(), nil
}

// isEmpty reports whether a value is the zero value of its Go type.
func isEmpty(value json.RawMessage) bool {
	switch string(value) {
	case `null`, `""`, `0`, `false`, `[]`, `"0001-01-01T00:00:00Z"`:
		return true
	}
	return false
}

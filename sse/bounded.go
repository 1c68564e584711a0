package sse

import "encoding/json"

// bounded puts the length of a form's lists where go-sdk looks at it first.
//
// Its ServerSession.Elicit holds the answer against the schema: each item of a list
// against each choice, and only then the list's length. A list of a few megabytes
// would keep a processor busy for minutes, and nothing ends that, not even its client
// hanging up. A keyword allOf is judged before the properties are, and says here what
// the properties say themselves.
func bounded(schema any) any {
	if schema == nil {
		return nil
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return schema // Elicit reports it
	}
	var form struct {
		AllOf      json.RawMessage `json:"allOf"`
		Properties map[string]struct {
			Type     any  `json:"type"`
			MaxItems *int `json:"maxItems"`
			Items    struct {
				Enum  []json.RawMessage `json:"enum"`
				AnyOf []json.RawMessage `json:"anyOf"`
			} `json:"items"`
		} `json:"properties"`
	}
	if json.Unmarshal(text, &form) != nil || form.AllOf != nil {
		return schema
	}
	type length struct {
		MaxItems int `json:"maxItems"`
	}
	lengths := map[string]length{}
	for name, p := range form.Properties {
		switch choices := len(p.Items.Enum) + len(p.Items.AnyOf); {
		case p.Type != "array":
		case p.MaxItems != nil:
			lengths[name] = length{*p.MaxItems}
		case choices > 0:
			lengths[name] = length{choices} // more items say nothing that fewer could not
		}
	}
	if len(lengths) == 0 {
		return schema
	}
	first, _ := json.Marshal([]any{map[string]any{"properties": lengths}})
	// Spliced in, because the order of the properties is that of the form's fields.
	text = append(text[:len(text)-1:len(text)-1], `,"allOf":`...)
	return json.RawMessage(append(append(text, first...), '}'))
}

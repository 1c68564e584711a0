package boundary

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/shape"
)

// A plain value shares nothing that can change with the handler, and holds no code of
// the handler's: it marshals outside the boundary as it did inside, whatever the handler
// does to its own value later. To make one, the boundary encodes the author's value once,
// judges the text by the specification, and decodes it.

//go:embed spec.json
var specText []byte

// specification has a shape for each part of the specification, by its name in spec.json.
var specification = sync.OnceValue(func() map[string]*shape.Shape {
	parts := map[string]json.RawMessage{}
	if err := json.Unmarshal(specText, &parts); err != nil {
		panic(err)
	}
	delete(parts, "$comment")
	whole, err := shape.Compile(map[string]any{"$defs": parts})
	if err != nil {
		panic(err)
	}
	shapes := map[string]*shape.Shape{}
	for name := range parts {
		shapes[name] = whole.Part(name)
	}
	return shapes
})

// encoded is a value as JSON that every client can read, and that fits a part of the
// specification. It runs the author's code, if there is any in the value, for the last time.
func encoded(part string, v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if err := sendable(text); err != nil {
		return nil, err
	}
	if s := specification()[part]; !s.Fits(text) {
		found := s.Findings(text, 1)[0]
		return nil, fmt.Errorf("%s: %s %s", part, found.Pointer, found.Problem)
	}
	return text, nil
}

// plain is a plain copy of a value.
func plain[T any](part string, v *T) (*T, error) {
	text, err := encoded(part, v)
	if err != nil {
		return nil, err
	}
	made := new(T)
	return made, json.Unmarshal(text, made)
}

// plainContent returns plain content, or says why it cannot be sent.
func plainContent(content []mcp.Content) ([]mcp.Content, error) {
	if made, ok := copiedTexts(content); ok {
		return made, nil
	}
	if slices.ContainsFunc(content, func(block mcp.Content) bool { return isNil(block) }) {
		return nil, errors.New("a content block that is nil") // whose encoder would panic
	}
	made, err := plain("content", &mcp.CallToolResult{Content: content})
	if err != nil {
		return nil, err
	}
	for _, block := range made.Content {
		switch c := block.(type) {
		case *mcp.ResourceLink:
			if c.Name == "" { // required on the wire, and go-sdk would omit it
				c.Name = c.URI
			}
		case *mcp.EmbeddedResource:
			complete(c.Resource)
		}
	}
	return made.Content, nil
}

// copiedTexts copies the usual content, which nothing in the specification forbids.
func copiedTexts(content []mcp.Content) ([]mcp.Content, bool) {
	made := make([]mcp.Content, len(content))
	for i, block := range content {
		text, _ := block.(*mcp.TextContent)
		if text == nil || text.Meta != nil || text.Annotations != nil || !utf8.ValidString(text.Text) {
			return nil, false
		}
		made[i] = &mcp.TextContent{Text: text.Text}
	}
	return made, true
}

// complete adds the blob to a resource that would have neither text nor blob on the wire:
// go-sdk omits an empty text.
func complete(c *mcp.ResourceContents) {
	if c.Text == "" && c.Blob == nil {
		c.Blob = []byte{}
	}
}

// maxNesting bounds the depth of a result. With the message around it a result stays within
// a thousand levels, the limit of many decoders.
const maxNesting = 997

// plainJSON is v as JSON that every client can read, or nil if v is nil.
func plainJSON(v any) (json.RawMessage, error) {
	switch own := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		own = bytes.Clone(own)
		return own, sendable(own)
	}
	return encoded("any", v)
}

// sendable says why bytes cannot be sent as JSON. Besides text that is no JSON, clients
// differ in how they read text that is not UTF-8, very deep values, and numbers
// beyond a float64, and many refuse the whole message.
func sendable(raw json.RawMessage) error {
	w := jsontext.Walk(raw, maxNesting)
	w.Value()
	switch {
	case !utf8.Valid(raw):
		return errors.New("JSON that is not UTF-8")
	case !w.End() && json.Valid(raw):
		return fmt.Errorf("JSON nested deeper than %d levels", maxNesting)
	case !w.End():
		return errors.New("bytes that are not JSON")
	case !specification()["any"].Fits(raw):
		return errors.New("a number that no float64 holds")
	}
	return nil
}

// plainMeta returns a _meta whose values are JSON.
func plainMeta(meta mcp.Meta) (mcp.Meta, error) {
	if meta == nil {
		return nil, nil
	}
	text, err := encoded("meta", meta)
	if err != nil {
		return nil, fmt.Errorf("_meta: %w", err)
	}
	made := make(mcp.Meta, len(meta)+2) // a report and the server's name may follow
	w := jsontext.Walk(text, maxNesting)
	for name := range w.Members {
		made[string(name)] = json.RawMessage(w.Value())
	}
	for key, value := range meta {
		switch value.(type) {
		case nil, string, bool, int, int64: // plain as they are
			if _, ok := made[key]; ok {
				made[key] = value
			}
		}
	}
	return made, nil
}

// isPlain reports whether v holds no code of an author's that runs when v is encoded.
func isPlain(v any, depth int) bool {
	every := func(values iter.Seq[any]) bool {
		for v := range values {
			if depth == 0 || !isPlain(v, depth-1) {
				return false
			}
		}
		return true
	}
	switch v := v.(type) {
	case nil, string, bool, int, int64, float64, json.RawMessage:
		return true
	case map[string]any:
		return every(maps.Values(v))
	case []any:
		return every(slices.Values(v))
	case *jsonschema.Schema:
		if v == nil || depth == 0 {
			return v == nil
		}
		if !every(slices.Values(v.Enum)) || !every(maps.Values(v.Extra)) || v.Const != nil && !isPlain(*v.Const, depth-1) || v.Examples != nil {
			return false
		}
		for _, sub := range slices.Concat(slices.Collect(maps.Values(v.Properties)), v.AnyOf, v.OneOf, []*jsonschema.Schema{v.Items}) {
			if !isPlain(sub, depth-1) {
				return false
			}
		}
		return true
	}
	return false
}

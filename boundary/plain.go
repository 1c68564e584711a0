package boundary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/snapshot"
)

// A plain value shares nothing that can change with the handler, and holds no code of
// the handler's: it marshals outside the boundary as it did inside, whatever the handler
// does to its own value later.

// plainContent returns plain content, or says why it cannot be sent. go-sdk's own types
// are checked field by field, since nearly all of their values marshal. A block of any
// other type is marshalled and decoded into one of them.
func plainContent(content []mcp.Content) ([]mcp.Content, error) {
	out := make([]mcp.Content, len(content))
	for i, block := range content {
		var err error
		if out[i], err = plainBlock(block); err != nil {
			return nil, fmt.Errorf("content block %d: %w", i, err)
		}
	}
	return out, nil
}

func plainBlock(block mcp.Content) (mcp.Content, error) {
	if isNilBlock(block) {
		return nil, errors.New("is nil")
	}
	switch c := block.(type) {
	case *mcp.TextContent:
		made := *c
		return &made, plainExtras(&made.Meta, &made.Annotations)
	case *mcp.ImageContent:
		made := *c
		made.Data = bytes.Clone(c.Data)
		return &made, plainExtras(&made.Meta, &made.Annotations)
	case *mcp.AudioContent:
		made := *c
		made.Data = bytes.Clone(c.Data)
		return &made, plainExtras(&made.Meta, &made.Annotations)
	case *mcp.ResourceLink:
		if c.URI == "" {
			return nil, errors.New("a resource link without a URI")
		}
		made := *c
		if made.Name == "" { // required on the wire, and go-sdk would omit it
			made.Name = made.URI
		}
		made.Size = snapshot.Of(c.Size)
		return &made, errors.Join(plainExtras(&made.Meta, &made.Annotations), plainIcons(&made.Icons))
	case *mcp.EmbeddedResource:
		resource, err := plainResource(c.Resource)
		if err != nil {
			return nil, fmt.Errorf("an embedded resource: %w", err)
		}
		made := *c
		made.Resource = resource
		return &made, plainExtras(&made.Meta, &made.Annotations)
	case *mcp.ToolUseContent, *mcp.ToolResultContent:
		return nil, fmt.Errorf("a %T belongs in sampling messages, not in a result", c)
	}
	return decodedBlock(block)
}

// plainResource is the contents of a resource as they can be sent.
func plainResource(c *mcp.ResourceContents) (*mcp.ResourceContents, error) {
	if c == nil || c.URI == "" {
		return nil, errors.New("no contents, or none with a URI")
	}
	made := *c
	made.Blob = bytes.Clone(c.Blob)
	if made.Text == "" && made.Blob == nil { // one is required, and go-sdk omits an empty text
		made.Blob = []byte{}
	}
	var err error
	made.Meta, err = plainMeta(made.Meta)
	return &made, err
}

// decodedBlock turns a block of a foreign type into go-sdk's type for its JSON.
func decodedBlock(block mcp.Content) (mcp.Content, error) {
	data, err := json.Marshal(struct {
		Content []mcp.Content `json:"content"`
	}{[]mcp.Content{block}})
	if err != nil {
		return nil, err
	}
	var res mcp.CallToolResult
	if err := json.Unmarshal(data, &res); err != nil {
		return nil, err
	}
	if len(res.Content) != 1 {
		return nil, fmt.Errorf("a %T does not read as one content block", block)
	}
	return plainBlock(res.Content[0])
}

func isNilBlock(block mcp.Content) bool {
	switch c := block.(type) {
	case nil:
		return true
	case *mcp.TextContent:
		return c == nil
	default:
		return isNil(block)
	}
}

// plainExtras makes the _meta and the annotations of a block plain.
func plainExtras(meta *mcp.Meta, annotations **mcp.Annotations) (err error) {
	if *meta, err = plainMeta(*meta); err != nil || *annotations == nil {
		return err
	}
	a := snapshot.Of(*annotations)
	*annotations = a
	if !(a.Priority >= 0 && a.Priority <= 1) { // nor NaN
		return errors.New("an annotation whose priority is not between 0 and 1")
	}
	for _, role := range a.Audience {
		if !isRole(role) {
			return errors.New("an annotation for an audience that is neither user nor assistant")
		}
	}
	if a.LastModified != "" && !isTime(a.LastModified) {
		return errors.New("an annotation whose lastModified is not an ISO 8601 time")
	}
	return nil
}

func isRole(r mcp.Role) bool { return r == "user" || r == "assistant" }

func isTime(s string) bool {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", time.DateOnly} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

func plainIcons(icons *[]mcp.Icon) error {
	*icons = snapshot.Of(*icons)
	for _, icon := range *icons {
		if icon.Source == "" || icon.Theme != "" && icon.Theme != mcp.IconThemeLight && icon.Theme != mcp.IconThemeDark {
			return errors.New("an icon without a source, or with a theme that is neither light nor dark")
		}
	}
	return nil
}

// maxNesting is how deep a value may be nested. Together with the message around it
// that stays within a thousand, which is as deep as many decoders go.
const maxNesting = 990

// plainJSON is v as JSON that every client can read, or nil if v is nil. It runs the
// author's code, if there is any in v, for the last time: go-sdk copies JSON as it is.
func plainJSON(v any) (raw json.RawMessage, err error) {
	if v == nil {
		return nil, nil
	}
	if own, ok := v.(json.RawMessage); ok {
		raw = bytes.Clone(own)
	} else if raw, err = json.Marshal(v); err != nil {
		return nil, err
	}
	return raw, sendable(raw)
}

// sendable says why bytes cannot be sent as JSON. Besides text that is no JSON, clients
// differ in how they read text that is not UTF-8, very deep values, and numbers
// beyond a float64, and many refuse the whole message.
func sendable(raw json.RawMessage) error {
	w := jsontext.Walk(raw, maxNesting)
	fit := numbersFit(w)
	switch {
	case !utf8.Valid(raw):
		return errors.New("JSON that is not UTF-8")
	case !fit:
		return errors.New("a number that no float64 holds")
	case w.End():
		return nil
	case json.Valid(raw):
		return fmt.Errorf("JSON nested deeper than %d levels", maxNesting)
	}
	return errors.New("bytes that are not JSON")
}

// numbersFit reads a value and reports whether a float64 holds each number in it.
func numbersFit(w *jsontext.Walker) bool {
	switch c := w.Kind(); {
	case c == '{':
		for range w.Members {
			if !numbersFit(w) {
				return false
			}
		}
	case c == '[':
		for range w.Elements {
			if !numbersFit(w) {
				return false
			}
		}
	case c == '-' || '0' <= c && c <= '9':
		number := w.Value()
		_, err := strconv.ParseFloat(string(number), 64)
		return number == nil || err == nil
	default:
		w.Value()
	}
	return true
}

// plainMeta returns a _meta with every value that may hold code of the author's
// replaced by its JSON.
func plainMeta(meta mcp.Meta) (mcp.Meta, error) {
	if meta == nil {
		return nil, nil
	}
	out := make(mcp.Meta, len(meta)+2) // a report and the server's name may follow
	for key, value := range meta {
		reserved := strings.HasPrefix(key, reservedPrefix) || key == "progressToken"
		switch value.(type) {
		case nil, string, bool, int, int64:
			if out[key] = value; !reserved {
				continue
			}
		}
		data, err := plainJSON(value)
		switch {
		case err != nil:
			return nil, fmt.Errorf("_meta %q: %w", key, err)
		case reserved && !fitsReserved(key, data):
			return nil, fmt.Errorf("_meta %q: the specification reserves this key for something else", key)
		}
		out[key] = data
	}
	return out, nil
}

const reservedPrefix = "io.modelcontextprotocol/"

// fitsReserved reports whether the value of a reserved key fits the specification.
// A strict client refuses a whole message for one that is not.
func fitsReserved(key string, value json.RawMessage) bool {
	named := func(names ...string) bool { // an object with these texts
		var members map[string]json.RawMessage
		if json.Unmarshal(value, &members) != nil || members == nil {
			return false
		}
		return !slices.ContainsFunc(names, func(name string) bool { return !isText(members[name]) })
	}
	switch key {
	case mcp.MetaKeyServerInfo, mcp.MetaKeyClientInfo:
		return named("name", "version")
	case mcp.MetaKeyClientCapabilities:
		return named()
	case reservedPrefix + "related-task":
		return named("taskId")
	case mcp.MetaKeyProtocolVersion, mcp.MetaKeyLogLevel:
		return isText(value)
	case mcp.MetaKeySubscriptionID, "progressToken":
		var n int64
		return isText(value) || string(value) != "null" && json.Unmarshal(value, &n) == nil
	}
	return true
}

func isText(value json.RawMessage) bool { return len(value) > 0 && value[0] == '"' }

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

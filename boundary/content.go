package boundary

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inert is the content with nothing of the tool's code left in it, so that
// marshalling it again outside the boundary does what it did inside; or an error
// that says why it cannot be sent. The SDK's own types are judged by their
// fields, since all but a few of their values marshal; any other type is replaced
// by what it marshals to.
func inert(content []mcp.Content) ([]mcp.Content, error) {
	out, own := content, false
	for i, block := range content {
		made, err := inertBlock(block)
		if err != nil {
			return nil, fmt.Errorf("content block %d: %w", i, err)
		}
		if made != block {
			if !own {
				out, own = slices.Clone(content), true
			}
			out[i] = made
		}
	}
	return out, nil
}

func inertBlock(block mcp.Content) (mcp.Content, error) {
	if isNilBlock(block) {
		return nil, errors.New("is nil")
	}
	switch c := block.(type) {
	case *mcp.TextContent:
		return c, decorated(c.Meta, c.Annotations)
	case *mcp.ImageContent:
		return c, decorated(c.Meta, c.Annotations)
	case *mcp.AudioContent:
		return c, decorated(c.Meta, c.Annotations)
	case *mcp.ResourceLink:
		if c.URI == "" {
			return nil, errors.New("a resource link without a URI")
		}
		if c.Name == "" { // required on the wire, where the SDK would leave it out
			named := *c
			named.Name = c.URI
			c = &named
		}
		return c, decorated(c.Meta, c.Annotations)
	case *mcp.EmbeddedResource:
		if c.Resource == nil || c.Resource.URI == "" {
			return nil, errors.New("an embedded resource without the resource or its URI")
		}
		if c.Resource.Text == "" && c.Resource.Blob == nil { // one is required, and an empty text is left out
			filled, contents := *c, *c.Resource
			contents.Blob = []byte{}
			filled.Resource, c = &contents, &filled
		}
		return c, errors.Join(decorated(c.Meta, c.Annotations), marshalsMeta(c.Resource.Meta))
	case *mcp.ToolUseContent, *mcp.ToolResultContent:
		return nil, fmt.Errorf("a %T belongs in sampling messages, not in a result", c)
	}
	return remade(block)
}

// remade is a block of a foreign type as the SDK's own type that reads the same.
func remade(block mcp.Content) (mcp.Content, error) {
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
	return inertBlock(res.Content[0])
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

func decorated(meta mcp.Meta, a *mcp.Annotations) error {
	if a != nil && (math.IsNaN(a.Priority) || math.IsInf(a.Priority, 0)) {
		return errors.New("an annotation whose priority is not a number")
	}
	return marshalsMeta(meta)
}

func marshalsMeta(meta mcp.Meta) error {
	if len(meta) == 0 {
		return nil
	}
	return marshals(meta)
}

// inertMeta is the _meta with every value that is more than a plain one as the
// JSON it marshals to.
func inertMeta(meta mcp.Meta) (mcp.Meta, error) {
	out, own := meta, false
	for key, value := range meta {
		switch value.(type) {
		case nil, string, bool, int, int64, *mcp.Implementation, json.RawMessage:
			if raw, ok := value.(json.RawMessage); !ok || json.Valid(raw) {
				continue
			}
		}
		data, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("_meta %q: %w", key, err)
		}
		if !own {
			out, own = maps.Clone(meta), true
		}
		out[key] = json.RawMessage(data)
	}
	return out, nil
}

func marshals(v any) error {
	_, err := json.Marshal(v)
	return err
}

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

// plainContent returns the content without any code of the tool's, so that it
// marshals outside the boundary as it did inside, or says why it cannot be sent.
// go-sdk's own types are checked field by field, since nearly all of their values
// marshal. A block of any other type is marshalled and decoded into one of them.
func plainContent(content []mcp.Content) ([]mcp.Content, error) {
	out, own := content, false
	for i, block := range content {
		made, err := plainBlock(block)
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

func plainBlock(block mcp.Content) (mcp.Content, error) {
	if isNilBlock(block) {
		return nil, errors.New("is nil")
	}
	switch c := block.(type) {
	case *mcp.TextContent:
		return c, checkAnnotations(c.Meta, c.Annotations)
	case *mcp.ImageContent:
		return c, checkAnnotations(c.Meta, c.Annotations)
	case *mcp.AudioContent:
		return c, checkAnnotations(c.Meta, c.Annotations)
	case *mcp.ResourceLink:
		if c.URI == "" {
			return nil, errors.New("a resource link without a URI")
		}
		if c.Name == "" { // required on the wire, and go-sdk would omit it
			named := *c
			named.Name = c.URI
			c = &named
		}
		return c, checkAnnotations(c.Meta, c.Annotations)
	case *mcp.EmbeddedResource:
		if c.Resource == nil || c.Resource.URI == "" {
			return nil, errors.New("an embedded resource without the resource or its URI")
		}
		if c.Resource.Text == "" && c.Resource.Blob == nil { // one is required, and go-sdk omits an empty text
			filled, contents := *c, *c.Resource
			contents.Blob = []byte{}
			filled.Resource, c = &contents, &filled
		}
		return c, errors.Join(checkAnnotations(c.Meta, c.Annotations), checkMeta(c.Resource.Meta))
	case *mcp.ToolUseContent, *mcp.ToolResultContent:
		return nil, fmt.Errorf("a %T belongs in sampling messages, not in a result", c)
	}
	return decodedBlock(block)
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

func checkAnnotations(meta mcp.Meta, a *mcp.Annotations) error {
	if a != nil && (math.IsNaN(a.Priority) || math.IsInf(a.Priority, 0)) {
		return errors.New("an annotation whose priority is not a number")
	}
	return checkMeta(meta)
}

func checkMeta(meta mcp.Meta) error {
	if len(meta) == 0 {
		return nil
	}
	return checkMarshals(meta)
}

// plainMeta returns the _meta with every value that may hold code of the tool's
// replaced by its JSON.
func plainMeta(meta mcp.Meta) (mcp.Meta, error) {
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

func checkMarshals(v any) error {
	_, err := json.Marshal(v)
	return err
}

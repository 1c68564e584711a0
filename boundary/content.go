package boundary

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

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
		if c.Meta == nil && c.Annotations == nil {
			return c, nil
		}
		made := *c
		return &made, plainExtras(&made.Meta, made.Annotations)
	case *mcp.ImageContent:
		made := *c
		return &made, plainExtras(&made.Meta, made.Annotations)
	case *mcp.AudioContent:
		made := *c
		return &made, plainExtras(&made.Meta, made.Annotations)
	case *mcp.ResourceLink:
		if c.URI == "" {
			return nil, errors.New("a resource link without a URI")
		}
		made := *c
		if made.Name == "" { // required on the wire, and go-sdk would omit it
			made.Name = made.URI
		}
		return &made, errors.Join(plainExtras(&made.Meta, made.Annotations), checkIcons(made.Icons))
	case *mcp.EmbeddedResource:
		resource, err := plainResource(c.Resource)
		if err != nil {
			return nil, fmt.Errorf("an embedded resource: %w", err)
		}
		made := *c
		made.Resource = resource
		return &made, plainExtras(&made.Meta, made.Annotations)
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

// plainExtras replaces the _meta of a block by a plain one, and checks the
// annotations.
func plainExtras(meta *mcp.Meta, a *mcp.Annotations) (err error) {
	if *meta, err = plainMeta(*meta); err != nil || a == nil {
		return err
	}
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

func checkIcons(icons []mcp.Icon) error {
	for _, icon := range icons {
		if icon.Source == "" || icon.Theme != "" && icon.Theme != mcp.IconThemeLight && icon.Theme != mcp.IconThemeDark {
			return errors.New("an icon without a source, or with a theme that is neither light nor dark")
		}
	}
	return nil
}

package snapshot

import (
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Result copies the parts of a handler's result that go-sdk writes to before it sends
// the result: the type of the result, its _meta, the structured content and the text of
// it, and the addresses of a resource's contents. A handler may return one result to
// several calls at once.
func Result[R mcp.Result](res R) R {
	var own mcp.Result
	switch r := any(res).(type) {
	case *mcp.CallToolResult:
		if r == nil {
			return res
		}
		made := *r
		made.Meta, made.Content = maps.Clone(r.Meta), slices.Clip(r.Content)
		own = &made
	case *mcp.GetPromptResult:
		if r == nil {
			return res
		}
		made := *r
		made.Meta = maps.Clone(r.Meta)
		own = &made
	case *mcp.ReadResourceResult:
		if r == nil {
			return res
		}
		made := *r
		made.Meta, made.Contents = maps.Clone(r.Meta), slices.Clone(r.Contents)
		for i, contents := range made.Contents {
			if contents != nil {
				c := *contents
				made.Contents[i] = &c
			}
		}
		own = &made
	default:
		return res
	}
	return own.(R)
}

package sse

import (
	"bytes"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/snapshot"
)

// method has the differences between the three methods whose handlers may ask.
type method[P mcp.RequestParams, R any] struct {
	// answers are those that the request itself carried.
	answers func(P) answers
	// retry copies the params, with these answers in place of their own. The copy is
	// deep wherever the handler may write.
	retry func(P, answers) P
	// needs reads a result that is not nil.
	needs func(R) needs
}

var tools = method[*mcp.CallToolParamsRaw, *mcp.CallToolResult]{
	answers: func(p *mcp.CallToolParamsRaw) answers { return answers{p.InputResponses, p.RequestState} },
	retry: func(p *mcp.CallToolParamsRaw, a answers) *mcp.CallToolParamsRaw {
		c := *p
		c.Meta = snapshot.Of(p.Meta)
		c.Arguments = bytes.Clone(p.Arguments)
		c.InputResponses, c.RequestState = a.responses, a.state
		return &c
	},
	needs: func(r *mcp.CallToolResult) needs {
		if r == nil {
			return needs{}
		}
		return needs{r.InputRequests, r.RequestState, len(r.Content) > 0 || r.StructuredContent != nil}
	},
}

var prompts = method[*mcp.GetPromptParams, *mcp.GetPromptResult]{
	answers: func(p *mcp.GetPromptParams) answers { return answers{p.InputResponses, p.RequestState} },
	retry: func(p *mcp.GetPromptParams, a answers) *mcp.GetPromptParams {
		c := *p
		c.Meta = snapshot.Of(p.Meta)
		c.Arguments = maps.Clone(p.Arguments)
		c.InputResponses, c.RequestState = a.responses, a.state
		return &c
	},
	needs: func(r *mcp.GetPromptResult) needs {
		if r == nil {
			return needs{}
		}
		return needs{r.InputRequests, r.RequestState, len(r.Messages) > 0}
	},
}

var resources = method[*mcp.ReadResourceParams, *mcp.ReadResourceResult]{
	answers: func(p *mcp.ReadResourceParams) answers { return answers{p.InputResponses, p.RequestState} },
	retry: func(p *mcp.ReadResourceParams, a answers) *mcp.ReadResourceParams {
		c := *p
		c.Meta = snapshot.Of(p.Meta)
		c.InputResponses, c.RequestState = a.responses, a.state
		return &c
	},
	needs: func(r *mcp.ReadResourceResult) needs {
		if r == nil {
			return needs{}
		}
		return needs{r.InputRequests, r.RequestState, len(r.Contents) > 0}
	},
}

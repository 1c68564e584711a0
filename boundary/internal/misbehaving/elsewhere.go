package misbehaving

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
)

// A Place is one of the three methods at which a handler may misbehave.
type Place string

const (
	AtTool     Place = "tools/call"
	AtPrompt   Place = "prompts/get"
	AtResource Place = "resources/read"
)

// Places are all of them.
var Places = []Place{AtTool, AtPrompt, AtResource}

// Scheme begins the URI of a misbehaving resource; the case's name follows.
const Scheme = "misbehaving://case/"

// In returns the cases of a place. Those of a tool that concern neither its arguments
// nor its output schema are tried on prompts and resources too, whose handlers then
// misbehave as the tool would.
func In(place Place, all []Case) []Case {
	if place == AtTool {
		return all
	}
	var some []Case
	for _, c := range all {
		if c.Wire == "" && c.Arguments == nil && c.Output == nil && (c.Raw != nil || c.Typed != nil) && !(place == AtResource && c.NoResource) {
			some = append(some, c)
		}
	}
	if place == AtPrompt {
		return append(some, prompts()...)
	}
	return append(some, resources()...)
}

// WantedAt is Wanted for a place. A prompt and a resource have no error results, and
// nothing of them is cut.
func (c Case) WantedAt(place Place, era probe.Era) (probe.Outcome, string) {
	want, kind := c.Wanted(era)
	if place == AtTool {
		return want, kind
	}
	switch {
	case c.Elsewhere != "":
		want = c.Elsewhere
	case want == probe.ErrorResult:
		want = probe.ProtocolError
	}
	return want, ""
}

// result is the result of the case's tool.
func (c Case) result(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if c.Raw != nil {
		return c.Raw(ctx, req)
	}
	res, out, err := c.Typed(ctx, req, Input{})
	if res == nil && err == nil {
		res = &mcp.CallToolResult{StructuredContent: out}
	}
	return res, err
}

// metaOf is the _meta of a result, with the structured content, for which only a tool
// has a place.
func metaOf(res *mcp.CallToolResult) mcp.Meta {
	if res.StructuredContent == nil {
		return res.Meta
	}
	return mcp.Meta{"structured": res.StructuredContent}
}

var errBuilt = errors.New("an error that the handler built itself")

func (c Case) prompt(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	call := &mcp.CallToolRequest{Session: req.Session, Extra: req.Extra, Params: &mcp.CallToolParamsRaw{Name: c.Name, InputResponses: req.Params.InputResponses}}
	res, err := c.result(ctx, call)
	if call.Params == nil {
		req.Params = nil
	}
	if res == nil || err != nil {
		return nil, err
	}
	if res.IsError {
		return nil, errBuilt
	}
	made := &mcp.GetPromptResult{Meta: metaOf(res), InputRequests: res.InputRequests, RequestState: res.RequestState}
	for _, block := range res.Content {
		made.Messages = append(made.Messages, &mcp.PromptMessage{Role: "user", Content: block})
	}
	return made, nil
}

func (c Case) resource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	call := &mcp.CallToolRequest{Session: req.Session, Extra: req.Extra, Params: &mcp.CallToolParamsRaw{Name: c.Name, InputResponses: req.Params.InputResponses}}
	res, err := c.result(ctx, call)
	if call.Params == nil {
		req.Params = nil
	}
	if res == nil || err != nil {
		return nil, err
	}
	if res.IsError {
		return nil, errBuilt
	}
	made := &mcp.ReadResourceResult{Meta: metaOf(res), InputRequests: res.InputRequests, RequestState: res.RequestState}
	if res.InputRequests == nil {
		made.Contents = []*mcp.ResourceContents{}
	}
	for _, block := range res.Content {
		made.Contents = append(made.Contents, contentsOf(block))
	}
	return made, nil
}

// contentsOf carries a block over into a resource. A block that is no text becomes its JSON.
func contentsOf(block mcp.Content) *mcp.ResourceContents {
	switch b := block.(type) {
	case nil:
		return nil
	case *mcp.TextContent:
		if b == nil {
			return nil
		}
		return &mcp.ResourceContents{Text: b.Text, Meta: b.Meta}
	case *mcp.ImageContent:
		if b == nil {
			return nil
		}
		return &mcp.ResourceContents{Blob: b.Data, MIMEType: b.MIMEType, Meta: b.Meta}
	case *mcp.EmbeddedResource:
		return b.Resource
	}
	return &mcp.ResourceContents{Meta: mcp.Meta{"block": block}}
}

// prompts are cases of prompts alone.
func prompts() []Case {
	says := func(messages ...*mcp.PromptMessage) mcp.PromptHandler {
		return func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: messages}, nil
		}
	}
	hello := &mcp.TextContent{Text: "hello"}
	return []Case{
		{Name: "prompt_no_messages", Explanation: "nil messages are null on the wire", Prompt: says(), Want: probe.Complete},
		{Name: "prompt_nil_message", Explanation: "a nil message", Prompt: says(nil), Want: probe.ProtocolError},
		{Name: "prompt_nil_content", Explanation: "a message without content", Prompt: says(&mcp.PromptMessage{Role: "user"}), Want: probe.ProtocolError},
		{Name: "prompt_no_role", Explanation: "a message of nobody", Prompt: says(&mcp.PromptMessage{Content: hello}), Want: probe.ProtocolError},
		{Name: "prompt_role", Explanation: "a message of a robot", Prompt: says(&mcp.PromptMessage{Role: "robot", Content: hello}), Want: probe.ProtocolError},
		{Name: "prompt_description", Explanation: "a description that is not UTF-8", Prompt: func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "\xff"}, nil
		}, Want: probe.Complete},
		{Name: "no_such_prompt", Explanation: "unknown to the server", Want: probe.ProtocolError},
	}
}

// resources are cases of resources alone.
func resources() []Case {
	reads := func(res mcp.ReadResourceResult) mcp.ResourceHandler {
		return func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			copied := res
			return &copied, nil
		}
	}
	good := []*mcp.ResourceContents{{Text: "hello"}}
	return []Case{
		{Name: "resource_nothing", Explanation: "nil contents", Resource: reads(mcp.ReadResourceResult{}), Want: probe.ProtocolError},
		{Name: "resource_nil_contents", Explanation: "nil among the contents", Resource: reads(mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}}), Want: probe.ProtocolError},
		{Name: "resource_scope", Explanation: "a cache scope that there is not", Resource: reads(mcp.ReadResourceResult{Contents: good, Cacheable: mcp.Cacheable{CacheScope: "galaxy"}}), Want: probe.ProtocolError},
		{Name: "resource_ttl", Explanation: "a negative time to live", Resource: reads(mcp.ReadResourceResult{Contents: good, Cacheable: mcp.Cacheable{TTLMs: -1}}), Want: probe.ProtocolError},
		{Name: "resource_not_utf8", Explanation: "a text that is not UTF-8", Resource: reads(mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "\xff"}}}), Want: probe.Complete},
		{Name: "no_such_resource", Explanation: "unknown to the server", Want: probe.ProtocolError},
		{Name: "no_such_" + strings.Repeat("x", 100), Explanation: "a URI of any length", Want: probe.ProtocolError},
	}
}

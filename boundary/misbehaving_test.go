package boundary_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
)

// A badCase is one way for a tool call to go wrong. The tool is named after it.
// At most one of Raw and Typed makes the tool. With neither there is no tool of this
// name, or the server's middleware reacts to it.
type badCase struct {
	Name        string
	Explanation string
	Raw         mcp.ToolHandler
	Typed       mcp.ToolHandlerFor[input, any]
	Add         func(*mcp.Server, *mcp.Tool) // in place of both, for a tool with an input of its own
	Prompt      mcp.PromptHandler            // of a case of prompts alone
	Resource    mcp.ResourceHandler          // of a case of resources alone
	Output      any                          // the tool's output schema
	Arguments   any                          // nil means {}
	Wire        string                       // arguments as raw JSON, in place of Arguments

	Want   judge.Outcome
	Type   string        // the error's type, for error results; empty: any
	Modern string        // for a modern client alone
	Legacy judge.Outcome // for a legacy client, if it differs

	Elsewhere  judge.Outcome // on prompts and resources, if it does not follow from Want
	NoResource bool          // a resource has no place for the mistake
	Asks       bool          // it asks the user, so that a client that can be asked gets another answer
	Endless    bool          // a client that follows rounds comes again for ever: it is left to the raw one
}

// input is the input of the typed tools.
type input struct {
	Place string `json:"place,omitempty"`
	Days  int    `json:"days,omitempty"`
}

// badCases returns all cases. Tools that hang do so until release is closed, or for ever
// if it is nil.
func badCases(release <-chan struct{}) []badCase {
	return slices.Concat(
		unreturned(release), noResult(), unmarshallable(), failing(release), oversized(), questions(), misused(),
		afterwards(release), unlawful())
}

// wanted is the outcome that a boundary must give in the era, and the error's
// type, or "" if there is none to compare.
func (c badCase) wanted(era judge.Era) (judge.Outcome, string) {
	want := c.Want
	if era == judge.Legacy && c.Legacy != "" {
		want = c.Legacy
	}
	if want != judge.ErrorResult {
		return want, ""
	}
	if era == judge.Modern && c.Modern != "" {
		return want, c.Modern
	}
	return want, c.Type
}

// A site is one of the three methods at which a handler may misbehave.
type site string

const (
	atTool     site = "tools/call"
	atPrompt   site = "prompts/get"
	atResource site = "resources/read"
)

// sites are all of them.
var sites = []site{atTool, atPrompt, atResource}

// badScheme begins the URI of a misbehaving resource; the case's name follows.
const badScheme = "misbehaving://case/"

// casesAt returns the cases of a place. Those of a tool that concern neither its arguments
// nor its output schema are tried on prompts and resources too, whose handlers then
// misbehave as the tool would.
func casesAt(place site, all []badCase) []badCase {
	if place == atTool {
		return all
	}
	var some []badCase
	for _, c := range all {
		if c.Wire == "" && c.Arguments == nil && c.Output == nil && (c.Raw != nil || c.Typed != nil) && !(place == atResource && c.NoResource) {
			some = append(some, c)
		}
	}
	if place == atPrompt {
		return append(some, prompts()...)
	}
	return append(some, resources()...)
}

// wantedAt is wanted for a place. A prompt and a resource have no error results, and
// nothing of them is cut.
func (c badCase) wantedAt(place site, era judge.Era) (judge.Outcome, string) {
	want, kind := c.wanted(era)
	if place == atTool {
		return want, kind
	}
	switch {
	case c.Elsewhere != "":
		want = c.Elsewhere
	case want == judge.ErrorResult:
		want = judge.ProtocolError
	}
	return want, ""
}

// result is the result of the case's tool.
func (c badCase) result(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if c.Raw != nil {
		return c.Raw(ctx, req)
	}
	res, out, err := c.Typed(ctx, req, input{})
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

// elsewhere runs the case's tool for another method. gone reports whether the tool
// has set the Params of its request to nil.
func (c badCase) elsewhere(ctx context.Context, session *mcp.ServerSession, extra *mcp.RequestExtra, answers mcp.InputResponseMap) (res *mcp.CallToolResult, gone bool, err error) {
	call := &mcp.CallToolRequest{Session: session, Extra: extra, Params: &mcp.CallToolParamsRaw{Name: c.Name, InputResponses: answers}}
	res, err = c.result(ctx, call)
	if err == nil && res != nil && res.IsError {
		err = errBuilt
	}
	return res, call.Params == nil, err
}

func (c badCase) prompt(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	res, gone, err := c.elsewhere(ctx, req.Session, req.Extra, req.Params.InputResponses)
	if gone {
		req.Params = nil
	}
	if res == nil || err != nil {
		return nil, err
	}
	made := &mcp.GetPromptResult{Meta: metaOf(res), InputRequests: res.InputRequests, RequestState: res.RequestState}
	for _, block := range res.Content {
		made.Messages = append(made.Messages, &mcp.PromptMessage{Role: "user", Content: block})
	}
	return made, nil
}

func (c badCase) resource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	res, gone, err := c.elsewhere(ctx, req.Session, req.Extra, req.Params.InputResponses)
	if gone {
		req.Params = nil
	}
	if res == nil || err != nil {
		return nil, err
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
func prompts() []badCase {
	says := func(messages ...*mcp.PromptMessage) mcp.PromptHandler {
		return func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: messages}, nil
		}
	}
	hello := &mcp.TextContent{Text: "hello"}
	return []badCase{
		{Name: "prompt_no_messages", Explanation: "nil messages are null on the wire", Prompt: says(), Want: judge.Complete},
		{Name: "prompt_nil_message", Explanation: "a nil message", Prompt: says(nil), Want: judge.ProtocolError},
		{Name: "prompt_nil_content", Explanation: "a message without content", Prompt: says(&mcp.PromptMessage{Role: "user"}), Want: judge.ProtocolError},
		{Name: "prompt_no_role", Explanation: "a message of nobody", Prompt: says(&mcp.PromptMessage{Content: hello}), Want: judge.ProtocolError},
		{Name: "prompt_role", Explanation: "a message of a robot", Prompt: says(&mcp.PromptMessage{Role: "robot", Content: hello}), Want: judge.ProtocolError},
		{Name: "prompt_description", Explanation: "a description that is not UTF-8", Prompt: func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "\xff"}, nil
		}, Want: judge.Complete},
		{Name: "no_such_prompt", Explanation: "unknown to the server", Want: judge.ProtocolError},
	}
}

// resources are cases of resources alone.
func resources() []badCase {
	reads := func(res mcp.ReadResourceResult) mcp.ResourceHandler {
		return func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			copied := res
			return &copied, nil
		}
	}
	good := []*mcp.ResourceContents{{Text: "hello"}}
	return []badCase{
		{Name: "resource_nothing", Explanation: "nil contents", Resource: reads(mcp.ReadResourceResult{}), Want: judge.ProtocolError},
		{Name: "resource_nil_contents", Explanation: "nil among the contents", Resource: reads(mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}}), Want: judge.ProtocolError},
		{Name: "resource_scope", Explanation: "a cache scope that there is not", Resource: reads(mcp.ReadResourceResult{Contents: good, Cacheable: mcp.Cacheable{CacheScope: "galaxy"}}), Want: judge.ProtocolError},
		{Name: "resource_ttl", Explanation: "a negative time to live", Resource: reads(mcp.ReadResourceResult{Contents: good, Cacheable: mcp.Cacheable{TTLMs: -1}}), Want: judge.ProtocolError},
		{Name: "resource_not_utf8", Explanation: "a text that is not UTF-8", Resource: reads(mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "\xff"}}}), Want: judge.Complete},
		{Name: "no_such_resource", Explanation: "unknown to the server", Want: judge.ProtocolError},
		{Name: "no_such_" + strings.Repeat("x", 100), Explanation: "a URI of any length", Want: judge.ProtocolError},
	}
}

// misbehavingServer is a server with a tool for every case, a prompt and a resource for those
// that are tried there too, and a tool "healthy" that does nothing wrong.
func misbehavingServer(cases []badCase) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "misbehaving", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	s.AddReceivingMiddleware(spoil)
	mcp.AddTool(s, &mcp.Tool{Name: "healthy"}, outputs(map[string]any{"well": true}))
	for _, c := range cases {
		tool := &mcp.Tool{Name: c.Name, Description: c.Explanation, OutputSchema: c.Output}
		switch {
		case c.Raw != nil:
			tool.InputSchema = &jsonschema.Schema{Type: "object"}
			s.AddTool(tool, c.Raw)
		case c.Typed != nil:
			mcp.AddTool(s, tool, c.Typed)
		case c.Add != nil:
			c.Add(s, tool)
		}
	}
	for _, c := range casesAt(atPrompt, cases) {
		handler := c.Prompt
		if c.Raw != nil || c.Typed != nil {
			handler = c.prompt
		}
		if handler != nil {
			s.AddPrompt(&mcp.Prompt{Name: c.Name, Description: c.Explanation}, handler)
		}
	}
	for _, c := range casesAt(atResource, cases) {
		handler := c.Resource
		if c.Raw != nil || c.Typed != nil {
			handler = c.resource
		}
		if handler != nil {
			s.AddResource(&mcp.Resource{Name: c.Name, URI: badScheme + c.Name, Description: c.Explanation}, handler)
		}
	}
	return s
}

// maxResultBytes is the limit of boundedServer's results.
const maxResultBytes = 64 << 10

// boundedServer is the same server behind a boundary, whose deadline is short for the tools
// that hang.
func boundedServer(cases []badCase) (*mcp.Server, error) {
	o := &boundary.Options{
		Logger: slog.New(slog.DiscardHandler), MaxResultBytes: maxResultBytes,
		Deadline: time.Minute, LegacyDeadline: time.Minute,
		MaxAbandoned: 1000, MaxAbandonedPerClient: 1000, // every client calls those that hang, and gets one answer
		ToolDeadlines: map[string]time.Duration{}, PromptDeadlines: map[string]time.Duration{}, ResourceDeadlines: map[string]time.Duration{},
	}
	for _, c := range cases {
		if strings.HasPrefix(c.Name, "hang_") {
			o.ToolDeadlines[c.Name] = 20 * time.Millisecond
			o.PromptDeadlines[c.Name] = 20 * time.Millisecond
			o.ResourceDeadlines[badScheme+c.Name] = 20 * time.Millisecond
		}
	}
	s := misbehavingServer(cases)
	return s, boundary.Install(s, o)
}

// spoil is the server's other middleware.
func spoil(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		switch call.Params.Name {
		case "middleware_panic":
			panic("boom")
		case "middleware_goexit":
			runtime.Goexit()
		case "middleware_nil":
			return nil, nil
		case "middleware_typed_nil":
			return (*mcp.CallToolResult)(nil), nil
		case "middleware_other_result":
			return &mcp.ListToolsResult{}, nil
		case "middleware_unstamped":
			return text("made by middleware"), nil
		}
		return next(ctx, method, req)
	}
}

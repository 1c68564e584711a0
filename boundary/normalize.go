package boundary

import (
	"context"
	"errors"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// normalize turns whatever the tool and its middleware returned into something
// that go-sdk can send: a result that marshals, or an intended protocol error.
func (b *boundary) normalize(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		res, err := next(ctx, c)
		switch {
		case err != nil:
			if endless(err) {
				return c.errorResult(failureOf(ctx, c, err)), nil
			}
			if wire := c.protocolError(err); wire != nil && !isSDKBugReport(wire) {
				return nil, b.withSuggestions(ctx, c, wire)
			}
			return c.errorResult(b.raised(ctx, c, err)), nil
		case res.InputRequests != nil:
			return b.asking(c, res)
		case res.IsError:
			return b.erroneous(ctx, c, res)
		}
		return b.successful(ctx, c, res), nil
	}
}

// raised is the failure of an error that came without a result.
func (b *boundary) raised(ctx context.Context, c *call, err error) *failure {
	if errors.Is(err, errNoResult) {
		return &failure{kind: "no_result", text: "The tool returned nothing, neither a result nor an error. The arguments are not the reason.", err: err, cause: err.Error()}
	}
	wire, ok := err.(*jsonrpc.Error)
	switch {
	case ok && wire == nil:
		return &failure{kind: "internal", text: internalText(c), cause: "the handler returned a nil *jsonrpc.Error as its error"}
	case ok && isSDKBugReport(wire):
		return malformed(wire.Message)
	}
	return failureOf(ctx, c, err)
}

// asking passes an input_required result, with its questions made plain, if it can
// be sent.
func (b *boundary) asking(c *call, res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	if res.IsError {
		return c.errorResult(malformed("the result is an error and asks for input at the same time")), nil
	}
	made := *res
	if f := c.plainAsking(&made.Meta, &made.InputRequests, made.RequestState, made.NeedsInput()); f != nil {
		return c.errorResult(f), nil
	}
	return &made, nil
}

// erroneous handles an error result that the tool built itself, or that go-sdk
// built from the error the tool returned.
func (b *boundary) erroneous(ctx context.Context, c *call, res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	f := &failure{kind: "execution"}
	if err := res.GetError(); err != nil {
		if _, bare := err.(*jsonrpc.Error); !bare && !endless(err) {
			if wire := c.protocolError(err); wire != nil {
				return nil, wire
			}
		}
		f = failureOf(ctx, c, err)
		if text, ok := onlyText(res); ok && text == err.Error() {
			return c.errorResult(f), nil // go-sdk built it, and the failure's text may be better than the error's
		}
	}
	made := c.newResult()
	var err error
	if made.Content, err = plainContent(res.Content); err != nil {
		return c.errorResult(malformed(err.Error())), nil
	}
	if made.Meta, err = plainMeta(res.Meta); err != nil {
		made.Meta = nil // losing the error over its _meta would be worse
	}
	if len(made.Content) == 0 {
		made.Content = []mcp.Content{&mcp.TextContent{Text: "The tool failed and gave no reason."}}
	}
	if text, ok := made.Content[0].(*mcp.TextContent); ok && f.text == "" {
		f.text = text.Text
	}
	c.makeError(made, f)
	return made, nil
}

// onlyText is the text of a result with nothing else in it.
func onlyText(res *mcp.CallToolResult) (string, bool) {
	if len(res.Content) != 1 || res.Meta != nil {
		return "", false
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok || text == nil {
		return "", false
	}
	return text.Text, text.Meta == nil && text.Annotations == nil
}

// successful rebuilds a complete result, so that it has its resultType and nothing
// in it can fail to marshal later.
func (b *boundary) successful(ctx context.Context, c *call, res *mcp.CallToolResult) *mcp.CallToolResult {
	if res.RequestState != "" {
		return c.errorResult(malformed(stateAlone))
	}
	content, err := plainContent(res.Content)
	if err != nil {
		return c.errorResult(malformed(err.Error()))
	}
	meta, err := plainMeta(res.Meta)
	if err != nil {
		return c.errorResult(malformed(err.Error()))
	}
	structured, fits, err := c.plainOutput(res.StructuredContent)
	if err != nil {
		return c.errorResult(malformed("structured content: " + err.Error()))
	}
	if !fits {
		if cause := b.outputFault(ctx, c, structured); cause != "" {
			f := malformed(cause)
			f.kind = "invalid_output"
			return c.errorResult(f)
		}
	}
	made := c.newResult()
	made.Meta = meta
	if content != nil {
		made.Content = content
	}
	switch {
	case structured == nil:
	case c.modern || structured[0] == '{':
		made.StructuredContent = structured
	case len(made.Content) == 0: // before 2026-07-28 structured content is an object
		made.Content = []mcp.Content{&mcp.TextContent{Text: string(structured)}}
	}
	c.addReport(made, nil)
	return made
}

// malformed is the failure of a tool that succeeded and whose result cannot be
// sent.
func malformed(cause string) *failure {
	return &failure{kind: "malformed_result", text: undeliverableText, undelivered: true, cause: cause}
}

// isNil reports whether v is nil or an interface that holds a nil pointer.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

package boundary

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// normalising turns whatever came from inside into something the SDK can send: a
// result that marshals, or a protocol error that was meant to be one.
func (b *boundary) normalising(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		res, err := next(ctx, c)
		switch {
		case err != nil:
			if endless(err) {
				return c.fail(b, describe(ctx, c, err)), nil
			}
			if wire := c.protocolError(err); wire != nil && !sdkBugReport(wire) {
				return nil, b.withSuggestions(ctx, c, wire)
			}
			return c.fail(b, b.raised(ctx, c, err)), nil
		case res.InputRequests != nil:
			return b.asking(c, res)
		case res.IsError:
			return b.erroneous(ctx, c, res)
		}
		return b.successful(ctx, c, res), nil
	}
}

// raised is the problem of an error that no result came with.
func (b *boundary) raised(ctx context.Context, c *call, err error) *problem {
	if errors.Is(err, errNoResult) {
		return &problem{kind: "no_result", text: "The tool returned nothing, neither a result nor an error. The arguments are not the reason.", err: err, cause: err.Error()}
	}
	wire, ok := err.(*jsonrpc.Error)
	switch {
	case ok && wire == nil:
		return &problem{kind: "internal", text: internalText(c.tool), cause: "the handler returned a nil *jsonrpc.Error as its error"}
	case ok && sdkBugReport(wire):
		return malformed(wire.Message)
	}
	return describe(ctx, c, err)
}

// asking passes an input_required result as it is, once it is known that it can
// be sent. One that the SDK did not stamp as input_required was meant for a
// client that can no longer be asked: unstamped, it would read as an empty
// success. No questions, but a state, is good: the client is to come again.
func (b *boundary) asking(c *call, res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	switch {
	case res.IsError:
		return c.fail(b, malformed("the result is an error and asks for input at the same time")), nil
	case len(res.InputRequests) == 0 && res.RequestState == "":
		return c.fail(b, malformed("the result asks for input but holds neither a question nor a requestState")), nil
	case hasNilQuestion(res.InputRequests):
		return c.fail(b, malformed("the result holds a nil question")), nil
	case !res.NeedsInput():
		return c.fail(b, &problem{
			kind:  "input_unsupported",
			text:  "The tool needs another answer from the user, and this client cannot be asked for it.",
			cause: "a client from before 2026-07-28 was left with a further round of questions",
		}), nil
	}
	if err := marshals(res); err != nil {
		return c.fail(b, malformed(err.Error())), nil
	}
	return res, nil
}

func hasNilQuestion(questions mcp.InputRequestMap) bool {
	for _, q := range questions {
		if isNil(q) {
			return true
		}
	}
	return false
}

// erroneous is an error result the tool made: through an error it returned, whose
// text is the content, or by hand.
func (b *boundary) erroneous(ctx context.Context, c *call, res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	p := &problem{kind: "execution"}
	if err := res.GetError(); err != nil {
		if _, bare := err.(*jsonrpc.Error); !bare && !endless(err) {
			if wire := c.protocolError(err); wire != nil {
				return nil, wire
			}
		}
		p = describe(ctx, c, err)
		if text, ok := onlyText(res); ok && text == err.Error() {
			return c.fail(b, p), nil // the text of a problem may be better than its error's
		}
	}
	made := c.blank()
	var err error
	if made.Content, err = inert(res.Content); err != nil {
		return c.fail(b, malformed(err.Error())), nil
	}
	if made.Meta, err = inertMeta(res.Meta); err != nil {
		made.Meta = nil // the error itself matters more
	}
	if len(made.Content) == 0 {
		made.Content = []mcp.Content{&mcp.TextContent{Text: "The tool failed and gave no reason."}}
	}
	if text, ok := made.Content[0].(*mcp.TextContent); ok && p.text == "" {
		p.text = text.Text
	}
	c.finish(b, made, p)
	return made, nil
}

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

func (b *boundary) successful(ctx context.Context, c *call, res *mcp.CallToolResult) *mcp.CallToolResult {
	if res.RequestState != "" {
		return c.fail(b, malformed("the result carries a requestState but asks for nothing: InputRequests must not be nil"))
	}
	content, err := inert(res.Content)
	if err != nil {
		return c.fail(b, malformed(err.Error()))
	}
	meta, err := inertMeta(res.Meta)
	if err != nil {
		return c.fail(b, malformed(err.Error()))
	}
	structured, err := marshalled(res.StructuredContent)
	if err != nil {
		return c.fail(b, malformed("structured content: "+err.Error()))
	}
	if cause := b.brokenOutput(ctx, c, structured); cause != "" {
		p := malformed(cause)
		p.kind = "invalid_output"
		return c.fail(b, p)
	}
	made := c.blank()
	made.Meta = meta
	if content != nil {
		made.Content = content
	}
	if structured != nil {
		made.StructuredContent = structured
	}
	c.face(made, nil, false)
	return made
}

func malformed(cause string) *problem {
	return &problem{kind: "malformed_result", text: undeliverableText, undelivered: true, cause: cause}
}

// marshalled is v as JSON that is known to be valid, or nil for nothing. Marshalling
// here is not done twice: the SDK only copies what is JSON already.
func marshalled(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(v) == 0 {
			return nil, errors.New("an empty json.RawMessage")
		}
		if !json.Valid(v) {
			return nil, errors.New("a json.RawMessage that is not JSON")
		}
		return v, nil
	}
	return json.Marshal(v)
}

// isNil reports whether v is nil or holds a nil pointer, which is not the same.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

package boundary

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

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
			if _, ok := err.(*passed); ok {
				return nil, err
			}
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
	if _, ok := res.GetError().(*resultError); ok {
		return res, nil // of a boundary further in, which tasks are around
	}
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
	if !slices.ContainsFunc(made.Content, saysSomething) {
		made.Content = append([]mcp.Content{&mcp.TextContent{Text: cmp.Or(f.text, silentText(c))}}, made.Content...)
	}
	if text, ok := made.Content[0].(*mcp.TextContent); ok {
		if f.text == "" {
			f.text = text.Text
		} else if text.Text == res.GetError().Error() { // go-sdk's own copy of it
			text.Text = f.text
		}
	}
	c.makeError(made, f)
	return made, nil
}

// saysSomething reports whether a model can read why a tool failed: not from an image.
func saysSomething(block mcp.Content) bool {
	text, ok := block.(*mcp.TextContent)
	return ok && strings.TrimSpace(text.Text) != ""
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
	structured, err := plainJSON(res.StructuredContent)
	if err != nil {
		return c.errorResult(malformed("structured content: " + err.Error()))
	}
	if cause := b.outputFault(ctx, c, structured); cause != "" {
		f := malformed(cause)
		f.kind = "invalid_output"
		return c.errorResult(f)
	}
	made := c.newResult()
	made.Meta = meta
	made.Content = content
	switch {
	case structured == nil:
	case c.revision != legacy || structured[0] == '{':
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

// completeStamp is an empty result with resultType set. The field is unexported, so
// only go-sdk's decoder can set it; copies keep it.
var completeStamp = stamped[mcp.CallToolResult](`{"resultType":"complete","content":[]}`)

func stamped[T any](text string) (res T) {
	if err := json.Unmarshal([]byte(text), &res); err != nil {
		panic(err) // go-sdk no longer reads its own results
	}
	return res
}

// newResult is an empty result, with resultType if the client's era demands it.
// Every result that is not input_required is built from one, because code outside
// go-sdk cannot see whether a result from inside has its resultType.
func (c *call) newResult() *mcp.CallToolResult {
	var res mcp.CallToolResult
	if c.revision != legacy {
		res = completeStamp
	}
	res.Content = []mcp.Content{}
	return &res
}

// errorResult is the error result of a failure.
func (c *call) errorResult(f *failure) *mcp.CallToolResult {
	res := c.newResult()
	res.Content = []mcp.Content{&mcp.TextContent{Text: f.text}}
	c.makeError(res, f)
	return res
}

// makeError turns res into an error result: its content stays as it is, the hints
// follow, and structured content is removed, since a strict client would judge it
// by the output schema.
func (c *call) makeError(res *mcp.CallToolResult, f *failure) {
	f.effect = c.effect(f)
	f.bound()
	res.IsError = true
	res.StructuredContent = nil
	res.InputRequests, res.RequestState = nil, ""
	if len(f.hints) > 0 {
		res.Content = append(res.Content[:len(res.Content):len(res.Content)],
			&mcp.TextContent{Text: strings.Join(f.hints, "\n")})
	}
	c.addReport(res, f)
	res.SetError(&resultError{f})
}

// resultError carries a failure to the log layer as the result's own error, which
// never leaves the server. Middleware outside the boundary finds the tool's error
// through Unwrap.
type resultError struct{ failure *failure }

func (r *resultError) Error() string { return r.failure.text }
func (r *resultError) Unwrap() error { return r.failure.err }

// outputFault says how a successful result breaks the tool's output schema, or is
// "". A strict client rejects such a result, so the model would never see it.
func (b *boundary) outputFault(ctx context.Context, c *call, structured json.RawMessage) string {
	def := c.definition()
	phase, _ := c.state()
	if def == nil || phase == checked && structured != nil {
		return ""
	}
	err := def.checkOutput(structured)
	if err == nil {
		return ""
	}
	if fresh := b.catalog.fresh(ctx, c); fresh != def {
		c.define(fresh)
		err = fresh.checkOutput(structured)
	}
	if err != nil {
		return fmt.Sprintf("structured content breaks the tool's output schema: %v", err)
	}
	return ""
}

// checkOutput returns nil if structured satisfies the tool's output schema or there
// is no schema to judge by.
func (d *definition) checkOutput(structured json.RawMessage) error {
	if !d.hasOutput() || d.output() == nil {
		return nil
	}
	if len(structured) == 0 {
		return errors.New("there is none, and the tool has an output schema")
	}
	if found := d.output().Findings(structured, 1); found != nil {
		return fmt.Errorf("%s %s", found[0].Pointer, found[0].Problem)
	}
	return nil
}

// checkOutput checks a handler's output before go-sdk does, whose error looks like one
// of the tool's own. It passes an output that go-sdk will not send: a nil
// pointer, which becomes a zero value, and one beside questions or an error.
func (c *call) checkOutput(res *mcp.CallToolResult, out any) error {
	def := c.definition()
	if !def.hasOutput() || isNil(out) || res != nil && (res.InputRequests != nil || res.IsError) {
		return nil
	}
	data, err := json.Marshal(out)
	if err == nil {
		if err = def.checkOutput(data); err == nil {
			c.reach(checked)
			return nil
		}
	}
	return &outputError{err}
}

// outputError reports an output that cannot be sent after the tool has run.
type outputError struct{ cause error }

func (e *outputError) Error() string           { return undeliverableText }
func (e *outputError) Unwrap() error           { return e.cause }
func (e *outputError) ToolErrorType() string   { return "invalid_output" }
func (e *outputError) ToolErrorExpected() bool { return false }

const undeliverableText = "The tool ran, but its result is malformed and cannot be shown. The arguments are not the reason."

package boundary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
)

// answered is the way of anything but a tool through the boundary. There are no error
// results, so every failure is a JSON-RPC error: [callerror.CodeStopped] for one
// that the client can cure, -32603 for a fault, and a code of the author's as it is.
// Content over the size limit is an error too, since half a prompt or half
// a resource says something else.
//
// settle returns the result without any code of the author's, or why it cannot be
// sent.
func answered[R mcp.Result](ctx context.Context, b *boundary, c *call, next mcp.MethodHandler, settle func(*call, R) (R, int, *failure)) (mcp.Result, error) {
	ended := isolated(ctx, b, c, func(ctx context.Context, c *call) (answer, error) {
		c.reach(entered)
		res, err := next(ctx, c.method(), c.req)
		if err != nil {
			return b.refused(ctx, c, err), nil
		}
		typed, ok := res.(R)
		if !ok || isNil(res) {
			if other := c.passes(res); other != nil && len(other.data) <= b.opts.MaxResultBytes {
				return answer{res: other.res, size: len(other.data)}, nil
			}
			return answer{failed: &failure{kind: "no_result", text: internalErrorText, cause: errNoResult.Error()}}, nil
		}
		made, size, f := settle(c, typed)
		if f == nil && size > b.opts.MaxResultBytes {
			f = &failure{
				kind: "too_large", cause: fmt.Sprintf("result of %d bytes", size),
				text: fmt.Sprintf("%s is larger than the %d bytes this server sends.", c.subject(), b.opts.MaxResultBytes),
			}
		}
		return answer{res: made, size: size, failed: f}, nil
	}, b.answer)
	if ended.res.wire != nil {
		return nil, ended.res.wire
	}
	return ended.res.res, nil
}

// answer is what the client gets of anything but a tool, and its record.
func (b *boundary) answer(c *call, ended outcome[answer]) (outcome[answer], *ending) {
	a := ended.res
	if ended.failed != nil {
		a = answer{failed: ended.failed}
		if ended.failed.kind == "internal" {
			a.failed.text = internalErrorText
		}
	}
	if f := a.failed; f != nil && a.wire == nil {
		f.effect = ""
		a.wire = c.rpcError(f)
	}
	var e *ending
	switch {
	case a.wire != nil:
		a.wire = within(b.opts.MaxResultBytes, a.wire)
		if c.kind != otherCall || a.failed != nil {
			e = &ending{err: a.wire, failed: a.failed}
		}
	case c.kind != otherCall:
		asking, ok := a.res.(interface{ NeedsInput() bool })
		e = &ending{asks: ok && asking.NeedsInput(), measured: func() (int, string) { return a.size, digestOfOther(a.res) }}
	}
	return outcome[answer]{res: a}, e
}

// An answer is a result or an error to send.
type answer struct {
	res    mcp.Result
	size   int
	wire   *jsonrpc.Error
	failed *failure // nil for an error that the author intended; for the log, if there is a wire
}

// refused is the answer for an error of the handler, or of middleware around it.
func (b *boundary) refused(ctx context.Context, c *call, err error) answer {
	if endless(err) {
		err = errors.New(err.Error())
	}
	if bare, ok := err.(*jsonrpc.Error); ok && bare == nil {
		return answer{failed: &failure{kind: "internal", text: internalErrorText, cause: "the handler returned a nil *jsonrpc.Error as its error"}}
	}
	wire, r := c.intended(err), callerror.ReadingOf(err)
	switch {
	case wire == nil:
	case !r.Found && wire.Code != jsonrpc.CodeInternalError && wire.Code != callerror.CodeStopped: // which mrtr gives to errors of its author's
		return answer{wire: wire}
	case context.Cause(ctx) == errDeadline && !r.Typed: // the time was up, whatever became of that
	default:
		return answer{wire: wire, failed: failureOf(ctx, c, err)}
	}
	if c.method() == "initialize" && strings.HasPrefix(err.Error(), "duplicate ") { // go-sdk gives it no code
		return answer{wire: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}}
	}
	return answer{failed: failureOf(ctx, c, err)}
}

// intended is the JSON-RPC error that the author chose, or nil. As in go-sdk a
// wrapped one gives its code to the message of the error around it.
func (c *call) intended(err error) *jsonrpc.Error {
	var made jsonrpc.Error
	var inner *jsonrpc.Error
	if p, ok := carried[callerror.Protocol](err); ok {
		made.Code, made.Message, made.Data = p.ToolErrorProtocol()
		if e, ok := p.(error); ok {
			c.note(errors.Unwrap(e))
		}
	} else if errors.As(err, &inner) && inner != nil {
		made.Code, made.Message = inner.Code, c.publicText(err)
		if err == error(inner) {
			made.Message, made.Data = inner.Message, inner.Data
		}
	}
	if made.Code == 0 {
		return nil
	}
	if withdrawn(&made) && c.revision != legacy {
		made.Code = jsonrpc.CodeInvalidParams // which revision 2026-07-28 has instead
	}
	if made.Message == "" {
		made.Message = silentText(c)
	}
	if made.Data = bytes.Clone(made.Data); !sendableData(made.Data) {
		made.Data = nil
	}
	return &made
}

// rpcError is the JSON-RPC error of a failure.
func (c *call) rpcError(f *failure) *jsonrpc.Error {
	wire := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: f.text}
	if f.expected || f.kind == "unavailable" {
		wire.Code = callerror.CodeStopped
	}
	wire.Data, _ = json.Marshal(struct {
		Reason    string `json:"reason"`
		RequestID string `json:"requestId"`
	}{truncated(f.kind, maxReported), c.requestID}) // strings marshal
	return wire
}

// prompt makes the result of a prompt plain.
func (b *boundary) prompt(c *call, res *mcp.GetPromptResult) (*mcp.GetPromptResult, int, *failure) {
	made := promptStamp
	if c.revision == legacy {
		made = mcp.GetPromptResult{}
	}
	if res.InputRequests != nil {
		made = *res
		return &made, 0, c.plainAsking(&made.Meta, &made.InputRequests, made.RequestState, made.NeedsInput())
	}
	if res.RequestState != "" {
		return nil, 0, malformed(stateAlone)
	}
	made.Description = res.Description
	made.Messages = make([]*mcp.PromptMessage, len(res.Messages))
	size := escapedSize(res.Description)
	for i, m := range res.Messages {
		if m == nil || m.Role != "user" && m.Role != "assistant" {
			return nil, 0, malformed(fmt.Sprintf("message %d is nil, or of neither the user nor the assistant", i))
		}
		content, err := plainContent([]mcp.Content{m.Content})
		if err != nil {
			return nil, 0, malformed(fmt.Sprintf("message %d: %v", i, err))
		}
		made.Messages[i] = &mcp.PromptMessage{Role: m.Role, Content: content[0]}
		size += blockSize(content[0])
	}
	var err error
	if made.Meta, err = plainMeta(res.Meta); err != nil {
		return nil, 0, malformed(err.Error())
	}
	return &made, size + metaSize(made.Meta), nil
}

// resource makes the result of a resource plain. One that was made of somebody's answers is
// not cached: its address does not tell it from another's.
func (b *boundary) resource(c *call, res *mcp.ReadResourceResult) (*mcp.ReadResourceResult, int, *failure) {
	made := resourceStamp
	if c.revision == legacy {
		made = mcp.ReadResourceResult{}
	}
	if res.InputRequests != nil {
		made = *res
		return &made, 0, c.plainAsking(&made.Meta, &made.InputRequests, made.RequestState, made.NeedsInput())
	}
	if res.RequestState != "" {
		return nil, 0, malformed(stateAlone)
	}
	made.Cacheable = res.Cacheable
	if made.CacheScope == "" {
		made.CacheScope = "public" // go-sdk's own default, for a result of middleware
	}
	if err := checkCacheable(made.Cacheable); err != nil {
		return nil, 0, malformed(err.Error())
	}
	if c.retry {
		made.Cacheable = mcp.Cacheable{CacheScope: "private"}
	}
	made.Contents = make([]*mcp.ResourceContents, len(res.Contents))
	size := 0
	for i, contents := range res.Contents {
		var err error
		if made.Contents[i], err = plain("contents", contents); err != nil {
			return nil, 0, malformed(fmt.Sprintf("contents %d: %v", i, err))
		}
		complete(made.Contents[i])
		size += encodedSize(made.Contents[i])
	}
	var err error
	if made.Meta, err = plainMeta(res.Meta); err != nil {
		return nil, 0, malformed(err.Error())
	}
	return &made, size + metaSize(made.Meta), nil
}

const stateAlone = "the result carries a requestState but asks for nothing: InputRequests must not be nil"

// promptStamp and resourceStamp are completeStamp for the other kinds.
var (
	promptStamp   = stamped[mcp.GetPromptResult](`{"resultType":"complete","messages":[]}`)
	resourceStamp = stamped[mcp.ReadResourceResult](`{"resultType":"complete","contents":[]}`)
)

package boundary

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// log writes one record per call: INFO for a result and for a declined question,
// WARN for an error that the agent can correct, ERROR with cause and stack for a
// fault. Sizes and digests stand for the values. Long texts are cut, since a client
// chooses the name it calls and errors may quote it.
func (b *boundary) log(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		res, err := next(ctx, c)
		if b.sink.logger == nil {
			return res, err
		}
		if err != nil {
			b.logEnd(ctx, c, ending{err: err})
			return res, err
		}
		e := ending{asks: res.InputRequests != nil}
		if res.IsError && !e.asks {
			e.failed = failureIn(res)
		}
		e.measured = func() (size int, digest string) { return sizeOf(res), digestOf(res) }
		b.logEnd(ctx, c, e)
		return res, err
	}
}

// An ending is how a call ended, for its record.
type ending struct {
	err      error    // a protocol error
	failed   *failure // an error result, or the failure that a protocol error stands for
	asks     bool
	measured func() (size int, digest string) // of a result; optional
}

func (b *boundary) logEnd(ctx context.Context, c *call, e ending) {
	level, word := slog.LevelInfo, "call"
	switch f := e.failed; {
	case e.asks:
		word = "asks"
	case f == nil && e.err != nil:
		level, word = slog.LevelWarn, "call refused"
	case f == nil:
	case f.quiet:
		word = "call stopped"
	case f.expected:
		level, word = slog.LevelWarn, "call failed"
	default:
		level, word = slog.LevelError, "call failed"
	}
	b.sink.record(ctx, level, c.kind.attr+" "+word, func() []slog.Attr { return c.record(e) })
}

func failureIn(res *mcp.CallToolResult) *failure {
	if r, ok := res.GetError().(*resultError); ok {
		return r.failure
	}
	return &failure{kind: "execution"}
}

func (c *call) record(e ending) []slog.Attr {
	attrs := []slog.Attr{
		slog.String(c.kind.attr, c.loggedTool()),
		slog.String("requestId", c.requestID),
		slog.Float64("durationMs", milliseconds(time.Since(c.start))),
	}
	if c.kind == toolCall {
		attrs = append(attrs, slog.Int("argumentBytes", len(c.arguments)), slog.String("argumentDigest", digest(c.arguments)))
	}
	if c.answers > 0 {
		attrs = append(attrs, slog.Int("answers", c.answers))
	}
	if e.err != nil {
		attrs = append(attrs, slog.String("error", truncated(e.err.Error(), maxLoggedText)))
		if cause := c.protocolCause(); cause != "" && e.failed == nil {
			attrs = append(attrs, slog.String("cause", truncated(cause, maxLoggedText)))
		}
	}
	if e.measured != nil {
		size, digest := e.measured()
		attrs = append(attrs, slog.Int("resultBytes", size), slog.String("resultDigest", digest))
	}
	if ops := c.timings(); len(ops) > 0 {
		attrs = append(attrs, slog.Attr{Key: "operations", Value: slog.GroupValue(ops...)})
	}
	f := e.failed
	if f == nil {
		return attrs
	}
	attrs = append(attrs, slog.String("type", f.kind))
	if f.effect != "" {
		attrs = append(attrs, slog.String("effect", f.effect))
	}
	if f.quiet || f.expected {
		return attrs
	}
	attrs = append(attrs, slog.String("cause", truncated(f.cause, maxLoggedText)))
	if len(f.stack) > 0 {
		attrs = append(attrs, slog.String("stack", string(f.stack)))
	}
	return attrs
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

// digest makes equal values recognizable in a log. Although it is cut short, a
// reader who guesses a value can confirm the guess.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// digestOf leaves out _meta, which differs on every call.
func digestOf(res *mcp.CallToolResult) string {
	h := sha256.New()
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			h.Write([]byte(text.Text))
			continue
		}
		if data, err := json.Marshal(block); err == nil {
			h.Write(data)
		}
	}
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		h.Write(raw)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// digestOfOther does, too: go-sdk writes to it while a slow record is made.
func digestOfOther(res mcp.Result) string {
	var said any
	switch res := res.(type) {
	case *mcp.GetPromptResult:
		said = res.Messages
	case *mcp.ReadResourceResult:
		said = res.Contents
	}
	data, err := json.Marshal(said)
	if err != nil {
		return ""
	}
	return digest(data)
}

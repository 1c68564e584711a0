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
		level, message, f := verdict(res, err)
		if b.opts.Logger.Enabled(ctx, level) {
			b.opts.Logger.LogAttrs(ctx, level, message, c.record(res, err, f)...)
		}
		return res, err
	}
}

// verdict is the level, the message and the failure to log for a call.
func verdict(res *mcp.CallToolResult, err error) (slog.Level, string, *failure) {
	if err != nil {
		return slog.LevelWarn, "tool call refused", nil
	}
	if res.InputRequests != nil {
		return slog.LevelInfo, "tool asks", nil
	}
	if !res.IsError {
		return slog.LevelInfo, "tool call", nil
	}
	f := failureIn(res)
	switch {
	case f.quiet:
		return slog.LevelInfo, "tool call stopped", f
	case f.expected:
		return slog.LevelWarn, "tool call failed", f
	}
	return slog.LevelError, "tool call failed", f
}

func failureIn(res *mcp.CallToolResult) *failure {
	if r, ok := res.GetError().(*resultError); ok {
		return r.failure
	}
	return &failure{kind: "execution"}
}

func (c *call) record(res *mcp.CallToolResult, err error, f *failure) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("tool", c.loggedTool()),
		slog.String("requestId", c.requestID),
		slog.Float64("durationMs", milliseconds(time.Since(c.start))),
		slog.Int("argumentBytes", len(c.req.Params.Arguments)),
		slog.String("argumentDigest", digest(c.req.Params.Arguments)),
	}
	if n := len(c.req.Params.InputResponses); n > 0 {
		attrs = append(attrs, slog.Int("answers", n))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", truncated(err.Error(), maxLoggedText)))
		if cause := c.protocolCause(); cause != "" {
			attrs = append(attrs, slog.String("cause", truncated(cause, maxLoggedText)))
		}
	} else {
		attrs = append(attrs, slog.Int("resultBytes", sizeOf(res)), slog.String("resultDigest", digestOf(res)))
	}
	if ops := c.timings(); len(ops) > 0 {
		attrs = append(attrs, slog.Attr{Key: "operations", Value: slog.GroupValue(ops...)})
	}
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

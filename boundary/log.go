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

// audit writes one record a call, of what the client gets: INFO for a result and
// for a declined question, WARN for what the agent can correct, ERROR with cause
// and stack for what an operator must mend. Sizes and digests stand for the
// values, and long texts are cut: a client chooses the name it calls, and part of
// what errors say.
func (b *boundary) audit(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		res, err := next(ctx, c)
		level, message, p := verdict(res, err)
		if b.opts.Logger.Enabled(ctx, level) {
			b.opts.Logger.LogAttrs(ctx, level, message, c.record(res, err, p)...)
		}
		return res, err
	}
}

func verdict(res *mcp.CallToolResult, err error) (slog.Level, string, *problem) {
	if err != nil {
		return slog.LevelWarn, "tool call refused", nil
	}
	if res.InputRequests != nil {
		return slog.LevelInfo, "tool asks", nil
	}
	if !res.IsError {
		return slog.LevelInfo, "tool call", nil
	}
	p := problemOf(res)
	switch {
	case p.quiet:
		return slog.LevelInfo, "tool call stopped", p
	case p.expected:
		return slog.LevelWarn, "tool call failed", p
	}
	return slog.LevelError, "tool call failed", p
}

func problemOf(res *mcp.CallToolResult) *problem {
	if r, ok := res.GetError().(*rendered); ok {
		return r.p
	}
	return &problem{kind: "execution"}
}

func (c *call) record(res *mcp.CallToolResult, err error, p *problem) []slog.Attr {
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
		attrs = append(attrs, slog.String("error", clipped(err.Error(), maxLoggedText)))
		if cause := c.protocolCause(); cause != "" {
			attrs = append(attrs, slog.String("cause", clipped(cause, maxLoggedText)))
		}
	} else {
		attrs = append(attrs, slog.Int("resultBytes", weigh(res)), slog.String("resultDigest", digestOf(res)))
	}
	if ops := c.timings(); len(ops) > 0 {
		attrs = append(attrs, slog.Attr{Key: "operations", Value: slog.GroupValue(ops...)})
	}
	if p == nil {
		return attrs
	}
	attrs = append(attrs, slog.String("type", p.kind))
	if p.effect != "" {
		attrs = append(attrs, slog.String("effect", p.effect))
	}
	if p.quiet || p.expected {
		return attrs
	}
	attrs = append(attrs, slog.String("cause", clipped(p.cause, maxLoggedText)))
	if len(p.stack) > 0 {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	return attrs
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

// digest tells equal values from different ones in a log. It is cut short, but a
// reader who can guess the value can still confirm the guess.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// digestOf is over the content alone: _meta differs on every call.
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

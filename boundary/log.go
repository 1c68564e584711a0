package boundary

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
)

// settled is the result of a tool's call as the client gets it, and its record.
func (b *boundary) settled(c *call, ended outcome[*mcp.CallToolResult]) (outcome[*mcp.CallToolResult], *ending) {
	if ended.failed != nil {
		ended = outcome[*mcp.CallToolResult]{res: c.errorResult(ended.failed)}
	}
	if other, ok := ended.err.(*passed); ok {
		return ended, &ending{measured: func() (int, string) { return len(other.data), digest(other.data) }}
	}
	if ended.err != nil {
		return ended, &ending{err: ended.err}
	}
	res := ended.res
	e := &ending{asks: res.InputRequests != nil, measured: func() (int, string) { return sizeOf(res), digestOf(res) }}
	if res.IsError && !e.asks {
		e.failed = &failure{kind: "execution"}
		if r, ok := res.GetError().(*resultError); ok {
			e.failed = r.failure
		}
	}
	return ended, e
}

// An ending is how a call ended, for its record.
type ending struct {
	err      error    // a protocol error
	failed   *failure // an error result, or the failure that a protocol error stands for
	asks     bool
	measured func() (size int, digest string) // of a result; optional
}

// logEnd writes the record of a call, if there is one, and calls then as the sink does: INFO
// for a result and for a declined question, WARN for an error that the agent can correct,
// ERROR with cause and stack for a fault. Sizes and digests stand for the values. Long texts
// are cut, since a client chooses the name it calls and errors may quote it.
func (b *boundary) logEnd(ctx context.Context, c *call, e *ending, then func()) {
	if e == nil {
		then()
		return
	}
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
	b.sink.record(ctx, level, c.kind.attr+" "+word, func() []slog.Attr { return c.record(e) }, then)
}

func (c *call) record(e *ending) []slog.Attr {
	attrs := []slog.Attr{
		slog.String(c.kind.attr, c.loggedTool()),
		slog.String("requestId", c.requestID),
		slog.Float64("durationMs", rendezvous.Milliseconds(time.Since(c.start))),
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
	attrs = append(attrs, c.addedAttrs()...)
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
	case *mcp.CompleteResult:
		said = res.Completion
	}
	data, err := json.Marshal(said)
	if err != nil {
		return ""
	}
	return digest(data)
}

// LogHandler adds the tool and the request id to every record that is logged with
// a call's context, so that the id in a result finds the tool's own lines.
func LogHandler(h slog.Handler) slog.Handler { return logHandler{h} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	c := callFrom(ctx)
	if c == nil || hasRequestID(r) {
		return h.Handler.Handle(ctx, r)
	}
	r = r.Clone()
	r.AddAttrs(slog.String(c.kind.attr, c.loggedTool()), slog.String("requestId", c.requestID))
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}

// hasRequestID is true of the boundary's own records.
func hasRequestID(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == "requestId"
		return !found
	})
	return found
}

const (
	maxLoggedTool = 128
	maxLoggedText = 4 << 10
)

// loggedTool is the tool's name, cut: a client may call a name of any length.
func (c *call) loggedTool() string { return truncated(c.tool, maxLoggedTool) }

// truncated is the first n bytes of s and, if s is longer, its length.
func truncated(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n
	for end > 0 && end > n-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes)", s[:end], len(s))
}

const maxCauses = 32

// causes is the text of an error's whole chain, outermost first, without the texts
// that an outer one contains.
func causes(err error) string {
	var parts []string
	queue := []error{err}
	for len(queue) > 0 && len(parts) < maxCauses {
		next := queue[0]
		queue = queue[1:]
		if next == nil {
			continue
		}
		text := printed(next)
		if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, text) }) {
			parts = append(parts, text)
		}
		switch u := next.(type) {
		case interface{ Unwrap() error }:
			queue = append(queue, u.Unwrap())
		case interface{ Unwrap() []error }:
			queue = append(queue, u.Unwrap()...)
		}
	}
	return strings.Join(parts, ": ")
}

// printed formats a value for the log. Anything but an error, a string or a simple
// value is shown by its type: formatting a map that contains itself would end the
// process. So is a value that panics while it is formatted.
func printed(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a value of type %T that panics when it is printed", v)
		}
	}()
	switch v := v.(type) {
	case error, fmt.Stringer, string:
		return fmt.Sprintf("%v", v)
	}
	if kind := reflect.ValueOf(v).Kind(); kind == reflect.String || reflect.Bool <= kind && kind <= reflect.Float64 {
		return fmt.Sprintf("%v", v)
	}
	return fmt.Sprintf("a value of type %T", v)
}

// logPatience is how long a call waits for its record to be written.
const logPatience = time.Second

// A sink writes log records so that a log handler that panics or does not return
// costs no call its answer. A record is written before the call is answered, unless
// that takes longer than logPatience. While a record is overdue, further ones are
// dropped, and the next that is written says how many.
type sink struct {
	logger *slog.Logger // nil: nothing is logged

	overdue atomic.Int32 // writers that no call waits for any longer
	mu      sync.Mutex
	dropped int // records since the last one that was written; guarded by mu
}

func newSink(logger *slog.Logger) *sink {
	if logger.Handler() == slog.DiscardHandler {
		return &sink{} // nothing to pay for
	}
	return &sink{logger: slog.New(recoveringHandler{logger.Handler()})}
}

// log writes a record with these attributes, and waits for it.
func (s *sink) log(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	if s.logger == nil {
		return
	}
	told := make(chan struct{})
	go s.record(ctx, level, message, func() []slog.Attr { return attrs }, func() { close(told) })
	<-told
}

// record writes a record whose attributes are made only if it is written, and calls then once
// that is done, or has taken logPatience. The logger may keep the goroutine for ever, or end it.
func (s *sink) record(ctx context.Context, level slog.Level, message string, attrs func() []slog.Attr, then func()) {
	if s.logger == nil || s.drops() {
		then()
		return
	}
	var late atomic.Bool // what follows then may change what attrs reads
	patience := time.AfterFunc(logPatience, func() {
		late.Store(true)
		s.overdue.Add(1)
		then()
	})
	defer func() {
		if patience.Stop() {
			then()
		} else {
			s.overdue.Add(-1)
		}
	}()
	if s.logger.Enabled(ctx, level) && !late.Load() {
		s.logger.LogAttrs(ctx, level, message, s.withDropped(attrs())...)
	}
}

// drops counts a record that is not written because another is overdue.
func (s *sink) drops() bool {
	if s.overdue.Load() <= 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped++
	return true
}

func (s *sink) withDropped(attrs []slog.Attr) []slog.Attr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped > 0 {
		attrs = append(attrs, slog.Int("droppedRecords", s.dropped))
		s.dropped = 0
	}
	return attrs
}

// recoveringHandler drops the panics of the operator's log handler, which must not
// fail the call that is being logged.
type recoveringHandler struct{ slog.Handler }

func (h recoveringHandler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }()
	return h.Handler.Enabled(ctx, level)
}

func (h recoveringHandler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() { _ = recover() }()
	return h.Handler.Handle(ctx, r)
}

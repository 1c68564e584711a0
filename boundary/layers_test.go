package boundary_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/wire"
)

func TestInstallTwice(t *testing.T) {
	var log journal
	s := newServer()
	addFailing(s, &mcp.Tool{Name: "t"}, noPlace{})
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: log.logger()}))
	res, _ := callTool(t, connect(t, s, &boundary.Options{Logger: log.logger()}), "t", nil)
	require.Len(t, res.Content, 2, "the hint must be there once")
	require.Len(t, log.take(t), 1, "the call must be logged once")
}

func TestInstallRefusesBadOptions(t *testing.T) {
	require.Error(t, boundary.Install(nil, nil))
	for _, o := range []boundary.Options{
		{Deadline: -1}, {LegacyDeadline: -1}, {MaxAbandoned: -1}, {MaxResultBytes: -1}, {MaxResultBytes: 10}, {Deny: []boundary.Tier{"write-only"}}, {ToolDeadlines: map[string]time.Duration{"t": 0}}, {ToolDeadlines: map[string]time.Duration{"t": -1}},
	} {
		var misuse *boundary.UsageError
		require.ErrorAs(t, boundary.Install(newServer(), &o), &misuse)
	}
	require.Panics(t, func() { boundary.Handler(outputs(1), &boundary.HandlerOptions{Attempts: -1}) })
}

func TestRequestID(t *testing.T) {
	var seen string
	session := serving(t, nil, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		seen = boundary.RequestID(ctx)
		return text("fine"), nil, nil
	})
	trace := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, tc := range []struct {
		meta mcp.Meta
		want string // empty: a random one
	}{
		{mcp.Meta{boundary.RequestIDKey: "my-id_1.2:3"}, "my-id_1.2:3"},
		{mcp.Meta{"traceparent": trace}, "4bf92f3577b34da6a3ce929d0e0e4736"},
		{mcp.Meta{boundary.RequestIDKey: "evil\nid", "traceparent": trace}, "4bf92f3577b34da6a3ce929d0e0e4736"},
		{mcp.Meta{boundary.RequestIDKey: strings.Repeat("x", 65)}, ""},
		{mcp.Meta{boundary.RequestIDKey: "<script>"}, ""},
		{mcp.Meta{boundary.RequestIDKey: 3}, ""},
		{mcp.Meta{"traceparent": "00-00000000000000000000000000000000-00f067aa0ba902b7-01"}, ""},
		{mcp.Meta{"traceparent": "00-zzzz2f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, ""},
		{nil, ""},
	} {
		report, _ := boundary.ReportOf(must(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Meta: tc.meta}))(t))
		require.Equal(t, seen, report.RequestID)
		if tc.want == "" {
			require.Len(t, seen, 26)
		} else {
			require.Equal(t, tc.want, seen)
		}
	}
	require.Empty(t, boundary.RequestID(t.Context()))
}

func TestLogHasSizesAndDigestsButNoValues(t *testing.T) {
	var log journal
	session := serving(t, &boundary.Options{Logger: log.logger()}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		defer boundary.Operation(ctx, "geocode")()
		log.logger().InfoContext(ctx, "a line of the tool's own")
		return text("s3cret result"), nil, nil
	})
	_, report := callTool(t, session, "t", map[string]any{"place": "s3cret"})
	records := log.take(t)
	require.Len(t, records, 2)
	require.Equal(t, report.RequestID, records[0]["requestId"], "the tool's own line has the id")
	require.Equal(t, "t", records[0]["tool"])
	record := records[1]
	require.Equal(t, "INFO", record["level"])
	require.EqualValues(t, len(`{"place":"s3cret"}`), record["argumentBytes"])
	require.EqualValues(t, len(`{"type":"text","text":"s3cret result"},`), record["resultBytes"])
	require.Len(t, record["argumentDigest"], 12)
	require.Contains(t, record["operations"], "geocode")
	require.NotContains(t, fmt.Sprint(record), "s3cret")
}

// Equal values have equal digests, different ones do not.
func TestDigests(t *testing.T) {
	var log journal
	n := 0
	s := everything(t, func(context.Context) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Total: n}}, nil
	})
	addRaw(s, "text", makes(func() *mcp.CallToolResult { return text(fmt.Sprint(n)) }))
	addRaw(s, "image", makes(func() *mcp.CallToolResult { return content(&mcp.ImageContent{Data: []byte{byte(n)}}) }))
	addRaw(s, "structured", makes(func() *mcp.CallToolResult { return structured(n) }))
	s.AddPrompt(&mcp.Prompt{Name: "n"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprint(n)}}}}, nil
	})
	s.AddResource(&mcp.Resource{Name: "n", URI: "t://n"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: fmt.Sprint(n)}}}, nil
	})
	client := speak(t, judge.Modern, s, &boundary.Options{Logger: log.logger()})
	for _, request := range []wire.Request{{Name: "text"}, {Name: "image"}, {Name: "structured"}, {Method: "prompts/get", Name: "n"}, {Method: "resources/read", Name: "t://n"}, completing(client, "a")} {
		var digests []any
		for _, n = range []int{1, 1, 2} {
			say(t, client, request)
			digests = append(digests, log.take(t)[0]["resultDigest"])
		}
		require.Equal(t, digests[0], digests[1], request)
		require.NotEqual(t, digests[1], digests[2], request)
	}
}

// A layer inside adds to the one record of its call, if that will be written. The first that
// adds to it says why the call ended.
func TestALayerInsideAddsToTheRecord(t *testing.T) {
	attrs := func(name string) func() []slog.Attr {
		return func() []slog.Attr { return []slog.Attr{slog.Bool(name, true)} }
	}
	for _, enabled := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			var late atomic.Bool
			logger := log.logger()
			if !enabled {
				logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
			}
			session := serving(t, &boundary.Options{Logger: logger, Deadline: time.Second}, func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
				require.Equal(t, enabled, rendezvous.AddToRecord(ctx, slog.LevelInfo, attrs("first")))
				require.Equal(t, enabled, rendezvous.AddToRecord(ctx, slog.LevelInfo, attrs("second")))
				if in.Days > 0 {
					time.Sleep(time.Minute)
					late.Store(rendezvous.AddToRecord(ctx, slog.LevelError, attrs("late")))
				}
				return text("fine"), nil, nil
			})
			callTool(t, session, "t", nil)
			records := log.take(t)
			require.Len(t, records, map[bool]int{true: 1}[enabled])
			for _, r := range records {
				require.Equal(t, true, r["first"])
				require.NotContains(t, r, "second")
			}
			callTool(t, session, "t", map[string]any{"days": 1})
			time.Sleep(time.Hour)
			require.False(t, late.Load(), "its record is written")
		})
	}
}

// A log handler that panics costs nothing. One that hangs costs the calls a second in all, and the next record says
// how many were dropped.
func TestALoggerThatHangs(t *testing.T) {
	for _, where := range []string{"Enabled", "Handle"} {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			stuck := &stuckHandler{Handler: slog.NewJSONHandler(&log, nil), where: where, let: make(chan struct{})}
			s := everything(t, nil)
			panics := serving(t, &boundary.Options{Logger: slog.New(&stuckHandler{Handler: slog.DiscardHandler, where: where})}, outputs("fine"))
			res, _ := callTool(t, panics, "t", nil)
			require.False(t, res.IsError)
			session := connect(t, s, &boundary.Options{Logger: slog.New(stuck)})
			begun := time.Now()
			for range 5 {
				callTool(t, session, "healthy", nil)
				must(session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"}))(t)
			}
			require.LessOrEqual(t, time.Since(begun), time.Second)
			close(stuck.let)
			synctest.Wait()
			callTool(t, session, "healthy", nil)
			records := log.take(t)
			require.EqualValues(t, 9, records[len(records)-1]["droppedRecords"])
		})
	}
}

// stuckHandler hangs in one of its methods until let is closed, or panics there if it is nil.
type stuckHandler struct {
	slog.Handler
	where string
	let   chan struct{}
}

func (h *stuckHandler) Enabled(context.Context, slog.Level) bool { return h.stick("Enabled") }

func (h *stuckHandler) Handle(ctx context.Context, r slog.Record) error {
	h.stick("Handle")
	return h.Handler.Handle(ctx, r)
}

func (h *stuckHandler) stick(where string) bool {
	switch {
	case h.where == where && h.let == nil:
		panic("boom")
	case h.where == where:
		<-h.let
	}
	return true
}

// A call that its client cancelled ends quietly, whether its handler hears of it or not.
func TestCancel(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			session := serving(t, &boundary.Options{Logger: log.logger()}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
				if <-ctx.Done(); deaf {
					time.Sleep(time.Hour)
				}
				return nil, nil, ctx.Err()
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "t"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			time.Sleep(time.Second)
			record := log.take(t)[0]
			require.Equal(t, []any{"cancelled", "unknown", "INFO"}, []any{record["type"], record["effect"], record["level"]})
			time.Sleep(time.Hour)
		})
	}
}

// A call's progress increases, whoever reports it.
func TestProgressIncreases(t *testing.T) {
	s := newServer()
	addRaw(s, "t", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for range 2 {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Progress: 1})
		}
		return text("fine"), nil
	})
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	client := must(wire.Connect(t.Context(), s, &wire.Options{Version: wire.Legacy}))(t)
	defer client.Close()
	say(t, client, wire.Request{Params: map[string]any{"name": "t", "_meta": map[string]any{"progressToken": "p"}}})
	told := slices.DeleteFunc(client.Messages(), func(m wire.Message) bool { return m.Method != "notifications/progress" })
	require.Len(t, told, 1)
}

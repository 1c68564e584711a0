package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

func TestInstallTwice(t *testing.T) {
	var log journal
	s := newServer()
	addFailing(s, &mcp.Tool{Name: "t"}, noPlace{})
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: log.logger()}))
	res, _ := callTool(t, connect(t, s, &boundary.Options{Logger: log.logger()}), "t", nil)
	require.Len(t, res.Content, 2, "the hint must be there once")
	require.Len(t, log.records(t), 1, "the call must be audited once")
}

func TestInstallRefusesBadOptions(t *testing.T) {
	require.Error(t, boundary.Install(nil, nil))
	for _, o := range []boundary.Options{
		{MaxAbandoned: -1}, {MaxResultBytes: 10}, {Deny: []boundary.Tier{"write-only"}}, {ToolDeadlines: map[string]time.Duration{"t": 0}},
	} {
		require.Error(t, boundary.Install(newServer(), &o))
	}
	require.Panics(t, func() { boundary.Handler(outputs(1), &boundary.HandlerOptions{Attempts: -1}) })
}

// A boundary of one server does not step aside for that of another, when a
// handler serves on its own call's context.
func TestServersInServers(t *testing.T) {
	outer := newServer()
	mcp.AddTool(outer, &mcp.Tool{Name: "outer"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		inner := newServer()
		addFailing(inner, &mcp.Tool{Name: "inner"}, noPlace{})
		if err := boundary.Install(inner, &boundary.Options{Logger: silent}); err != nil {
			return nil, nil, err
		}
		there, here := mcp.NewInMemoryTransports()
		if _, err := inner.Connect(ctx, there, nil); err != nil {
			return nil, nil, err
		}
		client, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(ctx, here, nil)
		if err != nil {
			return nil, nil, err
		}
		defer client.Close()
		res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "inner"})
		if err != nil {
			return nil, nil, err
		}
		face, ok := boundary.FaceOf(res)
		return text(face.Type), nil, errors.Join(map[bool]error{false: errors.New("no face")}[ok])
	})
	res, _ := callTool(t, connect(t, outer, nil), "outer", nil)
	require.Equal(t, []string{"not_found"}, texts(res))
}

func TestTiers(t *testing.T) {
	var log journal
	var ran atomic.Bool
	s := newServer()
	no, yes := false, true
	for name, a := range map[string]*mcp.ToolAnnotations{
		"reads": {ReadOnlyHint: true}, "writes": {DestructiveHint: &no}, "destroys": {DestructiveHint: &yes}, "unsaid": nil, "unsaid_too": {},
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Annotations: a}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			ran.Store(true)
			return text("fine"), nil, nil
		})
	}
	session := connect(t, s, &boundary.Options{Logger: log.logger(), Deny: []boundary.Tier{boundary.Destructive}})
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"reads", "writes"}, names)
	for _, name := range []string{"destroys", "unsaid", "unsaid_too"} {
		res, face := callTool(t, session, name, nil)
		require.True(t, res.IsError)
		require.Equal(t, "denied", face.Type)
		require.Empty(t, face.Effect)
	}
	require.False(t, ran.Load())
	records := log.records(t)
	require.Len(t, records, 3, "a denial is audited")
	require.Equal(t, "denied", records[0]["type"])

	res, _ := callTool(t, session, "reads", nil)
	require.False(t, res.IsError)
	mcp.AddTool(s, &mcp.Tool{Name: "reads"}, outputs("now it destroys"))
	_, face := callTool(t, session, "reads", nil)
	require.Equal(t, "denied", face.Type, "a tool that was replaced by a more dangerous one")
}

func TestLimits(t *testing.T) {
	const limit = 2048
	const hull = len(`{"type":"text","text":""},`)
	image := &mcp.ImageContent{Data: make([]byte, 4096), MIMEType: "image/png"}
	s := newServer()
	for name, h := range map[string]mcp.ToolHandler{
		"long":       returns(&mcp.CallToolResult{Content: text(strings.Repeat("é", 5000) + "the end").Content, Meta: mcp.Meta{"mine": "kept"}}),
		"image":      returns(content(&mcp.TextContent{Text: "before"}, image, &mcp.TextContent{Text: "after"})),
		"structured": returns(structured(map[string]any{"note": strings.Repeat("x", 5000)})),
		"error":      returns(&mcp.CallToolResult{IsError: true, Content: text(strings.Repeat("x", 5000) + "the reason").Content}),
		"fits":       returns(text(strings.Repeat("x", limit-hull))),
		"too_much":   returns(text(strings.Repeat("x", limit-hull+1))),
	} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: &jsonschema.Schema{Type: "object"}}, h)
	}
	big := map[string]any{"celsius": 1, "note": strings.Repeat("x", 5000)}
	s.AddTool(&mcp.Tool{Name: "promised", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: celsius}, returns(structured(big)))
	s.AddTool(&mcp.Tool{Name: "promised_readonly", InputSchema: &jsonschema.Schema{Type: "object"}, OutputSchema: celsius, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, returns(structured(big)))
	session := connect(t, s, &boundary.Options{Logger: silent, MaxResultBytes: limit})

	res, _ := callTool(t, session, "long", nil)
	require.False(t, res.IsError)
	require.Equal(t, "kept", res.Meta["mine"])
	require.Equal(t, "[The first 8242 of 10007 bytes of this text were cut.]", texts(res)[0])
	require.True(t, strings.HasSuffix(texts(res)[1], "the end"))
	require.True(t, utf8.ValidString(texts(res)[1]))
	require.NotContains(t, texts(res)[1], "\ufffd")

	res, _ = callTool(t, session, "image", nil)
	require.Equal(t, []string{"before", "[Content block 1, an image of 5514 bytes, was dropped.]", "after"}, texts(res))

	res, _ = callTool(t, session, "structured", nil)
	require.False(t, res.IsError)
	require.Nil(t, res.StructuredContent)
	require.Equal(t, "see the structured content", texts(res)[0])

	res, face := callTool(t, session, "error", nil)
	require.True(t, res.IsError)
	require.Equal(t, "execution", face.Type)
	require.True(t, strings.HasSuffix(texts(res)[1], "the reason"))

	res, _ = callTool(t, session, "fits", nil)
	require.Equal(t, []string{strings.Repeat("x", limit-hull)}, texts(res))
	res, _ = callTool(t, session, "too_much", nil)
	require.Len(t, texts(res), 2)

	res, face = callTool(t, session, "promised", nil)
	require.True(t, res.IsError)
	require.Equal(t, "too_large", face.Type)
	require.Equal(t, "applied", face.Effect, "it ran, only its result is gone")
	_, face = callTool(t, session, "promised_readonly", nil)
	require.Empty(t, face.Effect)
}

// A handler past its deadline is cancelled and left behind; as many as allowed,
// then calls are refused until one ends; its late result reaches nobody.
func TestAbandonedHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		var cancelled atomic.Int32
		let := make(chan struct{})
		s := newServer()
		mcp.AddTool(s, &mcp.Tool{Name: "deaf"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
			<-let
			if ctx.Err() != nil {
				cancelled.Add(1)
			}
			return text("late"), nil, nil
		})
		session := connect(t, s, &boundary.Options{Logger: log.logger(), Deadline: time.Second, MaxAbandoned: 2})
		for range 2 {
			begun := time.Now()
			res, face := callTool(t, session, "deaf", nil)
			require.True(t, res.IsError)
			require.Equal(t, "timeout", face.Type)
			require.Equal(t, "unknown", face.Effect)
			require.Less(t, time.Since(begun), 2*time.Second)
		}
		_, face := callTool(t, session, "deaf", nil)
		require.Equal(t, "unavailable", face.Type)
		require.Empty(t, face.Effect, "a call that was not run has no effect to tell of")
		close(let)
		synctest.Wait()
		res, _ := callTool(t, session, "deaf", nil)
		require.Equal(t, []string{"late"}, texts(res), "there is room again")
		require.EqualValues(t, 2, cancelled.Load(), "the context of an abandoned handler is cancelled")
		var ended int
		for _, r := range log.records(t) {
			if r["msg"] == "abandoned tool call ended" {
				ended++
			}
		}
		require.Equal(t, 2, ended)
	})
}

// A call that its client cancelled is answered once, as a quiet expected error.
func TestCancel(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			let := make(chan struct{})
			s := newServer()
			mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
				if deaf {
					<-let
					return nil, nil, nil
				}
				<-ctx.Done()
				return nil, nil, ctx.Err()
			})
			mcp.AddTool(s, &mcp.Tool{Name: "healthy"}, outputs("fine"))
			session := connect(t, s, &boundary.Options{Logger: log.logger()})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "slow"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			time.Sleep(time.Second)
			records := log.records(t)
			require.Len(t, records, 1)
			require.Equal(t, "cancelled", records[0]["type"])
			require.Equal(t, "unknown", records[0]["effect"])
			require.Equal(t, "INFO", records[0]["level"])
			res, _ := callTool(t, session, "healthy", nil)
			require.False(t, res.IsError)
			close(let)
		})
	}
}

// Other methods are not given results, but their panics are kept from the
// process too.
func TestOtherMethods(t *testing.T) {
	s := newServer()
	s.AddPrompt(&mcp.Prompt{Name: "panics"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { panic("boom") })
	s.AddPrompt(&mcp.Prompt{Name: "nothing"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil })
	session := connect(t, s, nil)
	for _, name := range []string{"panics", "nothing"} {
		_, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name})
		require.ErrorContains(t, err, "internal error")
		require.NotContains(t, err.Error(), "boom")
	}
}

func TestRequestID(t *testing.T) {
	s := newServer()
	var seen string
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		seen = boundary.RequestID(ctx)
		return text("fine"), nil, nil
	})
	session := connect(t, s, nil)
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
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Meta: tc.meta})
		require.NoError(t, err)
		face, ok := boundary.FaceOf(res)
		require.True(t, ok)
		require.Equal(t, seen, face.RequestID)
		if tc.want != "" {
			require.Equal(t, tc.want, face.RequestID)
		} else {
			require.Len(t, face.RequestID, 26)
		}
	}
	require.Empty(t, boundary.RequestID(t.Context()))
}

func TestAuditHasSizesAndDigestsButNoValues(t *testing.T) {
	var log journal
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		defer boundary.Operation(ctx, "geocode")()
		log.logger().InfoContext(ctx, "a line of the tool's own")
		return text("s3cret result"), nil, nil
	})
	_, face := callTool(t, connect(t, s, &boundary.Options{Logger: log.logger()}), "t", map[string]any{"place": "s3cret"})
	records := log.records(t)
	require.Len(t, records, 2)
	require.Equal(t, face.RequestID, records[0]["requestId"], "the tool's own line has the id")
	require.Equal(t, "t", records[0]["tool"])
	audit := records[1]
	require.Equal(t, "INFO", audit["level"])
	require.EqualValues(t, len(`{"place":"s3cret"}`), audit["argumentBytes"])
	require.EqualValues(t, len(`{"type":"text","text":"s3cret result"},`), audit["resultBytes"])
	require.Len(t, audit["argumentDigest"], 12)
	require.Contains(t, audit["operations"], "geocode")
	line, err := json.Marshal(audit)
	require.NoError(t, err)
	require.NotContains(t, string(line), "s3cret")
}

// A client chooses the name it calls, and an error may quote what it sent: neither
// fills the log.
func TestAuditIsShort(t *testing.T) {
	const flood = 500_000
	var log journal
	s := newServer()
	long := "x" + strings.Repeat("é", flood)
	addFailing(s, &mcp.Tool{Name: "fails"}, errors.New(long))
	addFailing(s, &mcp.Tool{Name: "refuses"}, &boundary.Protocol{Code: -32000, Message: long, Err: errors.New(long)})
	session := connect(t, s, &boundary.Options{Logger: log.logger()})
	_, face := callTool(t, session, "fails", nil)
	require.Equal(t, "execution", face.Type)
	for _, name := range []string{"refuses", long} {
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		require.Error(t, err)
	}
	records := log.records(t)
	require.Len(t, records, 3)
	for _, r := range records {
		line, err := json.Marshal(r)
		require.NoError(t, err)
		require.Less(t, len(line), 10_000)
		require.NotContains(t, string(line), "\ufffd", "cut between characters")
	}
	require.Equal(t, "x"+strings.Repeat("é", 63)+"... (1000001 bytes)", records[2]["tool"])
}

// A logger that panics does not cost a call its answer.
func TestALoggerThatPanics(t *testing.T) {
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, outputs("fine"))
	res, _ := callTool(t, connect(t, s, &boundary.Options{Logger: slog.New(fragileHandler{slog.DiscardHandler})}), "t", nil)
	require.False(t, res.IsError)
}

type fragileHandler struct{ slog.Handler }

func (fragileHandler) Enabled(context.Context, slog.Level) bool { panic("boom") }

// A panic costs one call, and none of those in flight beside it.
func TestOtherCallsLiveOn(t *testing.T) {
	s := newServer()
	s.AddTool(&mcp.Tool{Name: "panics", InputSchema: &jsonschema.Schema{Type: "object"}}, panics("boom"))
	entered, let := make(chan struct{}, 8), make(chan struct{})
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		entered <- struct{}{}
		<-let
		return text("fine"), nil, nil
	})
	session := connect(t, s, nil)
	results := make(chan *mcp.CallToolResult, cap(entered))
	for range cap(entered) {
		go func() {
			res, _ := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
			results <- res
		}()
		<-entered
	}
	res, _ := callTool(t, session, "panics", nil)
	require.True(t, res.IsError)
	close(let)
	for range cap(entered) {
		require.Equal(t, []string{"fine"}, texts(<-results))
	}
}

package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

// "In which order do the layers run?" is answered by Layers, and each layer by the
// file of its name.
func TestEachLayerHasItsFile(t *testing.T) {
	require.NotEmpty(t, boundary.Layers())
	for _, name := range boundary.Layers() {
		require.FileExists(t, name+".go")
	}
}

func TestInstallTwice(t *testing.T) {
	var log journal
	s := newServer()
	addFailing(s, &mcp.Tool{Name: "t"}, noPlace{})
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: log.logger()}))
	res, _ := callTool(t, connect(t, s, &boundary.Options{Logger: log.logger()}), "t", nil)
	require.Len(t, res.Content, 2, "the hint must be there once")
	require.Len(t, log.records(t), 1, "the call must be logged once")
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

// A boundary passes no call on to the boundary of another server, even if a handler
// serves that one with its own call's context.
func TestServersInServers(t *testing.T) {
	outer := newServer()
	mcp.AddTool(outer, &mcp.Tool{Name: "outer"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		inner := newServer()
		addFailing(inner, &mcp.Tool{Name: "inner"}, noPlace{})
		if err := boundary.Install(inner, &boundary.Options{Logger: silent}); err != nil {
			return nil, nil, err
		}
		report, _ := boundary.ReportOf(exampleCall(ctx, inner, "inner", nil))
		return text(report.Type), nil, nil
	})
	res, _ := callTool(t, connect(t, outer, nil), "outer", nil)
	require.Equal(t, []string{"not_found"}, texts(res))
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

// A panic ends its own call and no other call in flight.
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
		res := must(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Meta: tc.meta}))(t)
		report, ok := boundary.ReportOf(res)
		require.True(t, ok)
		require.Equal(t, seen, report.RequestID)
		if tc.want != "" {
			require.Equal(t, tc.want, report.RequestID)
		} else {
			require.Len(t, report.RequestID, 26)
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
	records := log.records(t)
	require.Len(t, records, 2)
	require.Equal(t, report.RequestID, records[0]["requestId"], "the tool's own line has the id")
	require.Equal(t, "t", records[0]["tool"])
	record := records[1]
	require.Equal(t, "INFO", record["level"])
	require.EqualValues(t, len(`{"place":"s3cret"}`), record["argumentBytes"])
	require.EqualValues(t, len(`{"type":"text","text":"s3cret result"},`), record["resultBytes"])
	require.Len(t, record["argumentDigest"], 12)
	require.Contains(t, record["operations"], "geocode")
	line := must(json.Marshal(record))(t)
	require.NotContains(t, string(line), "s3cret")
}

// Neither a long name from a client nor an error that quotes the arguments can fill
// the log.
func TestLogIsShort(t *testing.T) {
	const flood = 500_000
	var log journal
	s := newServer()
	long := "x" + strings.Repeat("é", flood)
	addFailing(s, &mcp.Tool{Name: "fails"}, errors.New(long))
	addFailing(s, &mcp.Tool{Name: "refuses"}, &boundary.Protocol{Code: -32000, Message: long, Err: errors.New(long)})
	session := connect(t, s, &boundary.Options{Logger: log.logger()})
	_, report := callTool(t, session, "fails", nil)
	require.Equal(t, "execution", report.Type)
	for _, name := range []string{"refuses", long} {
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		require.Error(t, err)
	}
	records := log.records(t)
	require.Len(t, records, 3)
	for _, r := range records {
		line := must(json.Marshal(r))(t)
		require.Less(t, len(line), 10_000)
		require.NotContains(t, string(line), "\ufffd", "cut between characters")
	}
	require.Equal(t, "x"+strings.Repeat("é", 63)+"... (1000001 bytes)", records[2]["tool"])
}

package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

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
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		defer boundary.Operation(ctx, "geocode")()
		log.logger().InfoContext(ctx, "a line of the tool's own")
		return text("s3cret result"), nil, nil
	})
	_, report := callTool(t, connect(t, s, &boundary.Options{Logger: log.logger()}), "t", map[string]any{"place": "s3cret"})
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
	line, err := json.Marshal(record)
	require.NoError(t, err)
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

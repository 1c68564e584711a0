package boundary_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

var flaky = &boundary.Execution{Operation: "fetch", Retryable: true}

type places struct {
	Names []string `json:"names,omitempty"`
}

func TestRetry(t *testing.T) {
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	for _, tc := range []struct {
		explanation string
		annotations *mcp.ToolAnnotations
		err         error
		asks        bool
		want        int
	}{
		{"a read-only tool is run again", readOnly, flaky, false, 3},
		{"no other is", nil, flaky, false, 1},
		{"nor after an error that does not ask for it", readOnly, errors.New("no"), false, 1},
		{"nor after an effect", readOnly, &boundary.Execution{Retryable: true, Effect: "unknown"}, false, 1},
		{"nor after a question was declined", readOnly, errors.Join(&declined{"units"}, flaky), false, 1},
		{"nor after a question, which would be asked again", readOnly, flaky, true, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			ran := 0
			s := newServer()
			mcp.AddTool(s, &mcp.Tool{Name: "t", Annotations: tc.annotations}, boundary.Handler(
				func(ctx context.Context, req *mcp.CallToolRequest, in places) (*mcp.CallToolResult, any, error) {
					ran++
					require.Equal(t, []string{"Lisbon"}, in.Names, "an attempt sees what the one before did to its arguments")
					in.Names[0] = "spoiled"
					if tc.asks {
						_, _ = req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
					}
					return nil, nil, tc.err
				}, &boundary.HandlerOptions{Attempts: 3, Pause: time.Second}))
			require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
			there, here := mcp.NewInMemoryTransports()
			server, err := s.Connect(t.Context(), there, nil)
			require.NoError(t, err)
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "decline"}, nil
				}})
			session, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			require.NoError(t, err)
			begun := time.Now()
			res, _ := callTool(t, session, "t", map[string]any{"names": []string{"Lisbon"}})
			require.True(t, res.IsError)
			require.Equal(t, tc.want, ran, tc.explanation)
			require.Equal(t, time.Duration(1<<(tc.want-1)-1)*time.Second, time.Since(begun))
			session.Close()
			server.Wait()
		})
	}
}

// A requestState may be used up by the first attempt. The error of a second attempt
// would replace the tool's own.
func TestNoRetryWithAState(t *testing.T) {
	parked := true
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "t", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, boundary.Handler(
		func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			if !parked {
				return nil, nil, errors.New("gone")
			}
			parked = false
			return nil, nil, flaky
		}, &boundary.HandlerOptions{Attempts: 3}))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	res, err := asker(t, s, "2026-07-28").CallTool(t.Context(), &mcp.CallToolParams{Name: "t", RequestState: "s"})
	require.NoError(t, err)
	require.True(t, res.IsError)
	require.Equal(t, []string{flaky.Error()}, texts(res))
}

type reading struct {
	Celsius any `json:"celsius"`
}

// Handler can tell a broken output from the tool's own errors.
func TestHandlerChecksTheOutput(t *testing.T) {
	var log journal
	s := newServer()
	for name, celsiusOf := range map[string]any{"good": 3, "wrong": "warm", "func": func() {}} {
		mcp.AddTool(s, &mcp.Tool{Name: name, OutputSchema: celsius}, boundary.Handler(
			func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, reading, error) {
				return nil, reading{celsiusOf}, nil
			}, nil))
	}
	session := connect(t, s, &boundary.Options{Logger: log.logger()})
	res, _ := callTool(t, session, "good", nil)
	require.False(t, res.IsError)
	for _, name := range []string{"wrong", "func"} {
		res, report := callTool(t, session, name, nil)
		require.True(t, res.IsError)
		require.Equal(t, "invalid_output", report.Type)
		require.Equal(t, "applied", report.Effect)
		require.NotContains(t, texts(res)[0], "warm")
	}
	require.Contains(t, log.records(t)[1]["cause"], "celsius")
}

// Without Install, Handler only calls the function.
func TestHandlerWithoutBoundary(t *testing.T) {
	ran := 0
	h := boundary.Handler(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		ran++
		return nil, nil, flaky
	}, &boundary.HandlerOptions{Attempts: 3})
	_, _, err := h(t.Context(), nil, input{})
	require.Equal(t, flaky, err)
	require.Equal(t, 1, ran)
}

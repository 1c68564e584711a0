package boundary_test

import (
	"context"
	"errors"
	"sync/atomic"
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
		report, ok := boundary.ReportOf(res)
		return text(report.Type), nil, errors.Join(map[bool]error{false: errors.New("no report")}[ok])
	})
	res, _ := callTool(t, connect(t, outer, nil), "outer", nil)
	require.Equal(t, []string{"not_found"}, texts(res))
}

// A handler past its deadline is cancelled and left behind. At the limit further
// calls are refused until one ends. A late result reaches nobody.
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
			res, report := callTool(t, session, "deaf", nil)
			require.True(t, res.IsError)
			require.Equal(t, "timeout", report.Type)
			require.Equal(t, "unknown", report.Effect)
			require.Less(t, time.Since(begun), 2*time.Second)
		}
		_, report := callTool(t, session, "deaf", nil)
		require.Equal(t, "unavailable", report.Type)
		require.Empty(t, report.Effect, "a call that was not run has no effect to tell of")
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

// A panic in another method does not end the process either.
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

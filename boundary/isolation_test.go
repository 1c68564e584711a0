package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

// A tool that ignores its context is refused once too many of its handlers are
// left behind, whoever ended the calls; the other tools go on. Each is cancelled, its end
// is logged, and its late result reaches nobody.
func TestAToolThatHangsIsRefusedAlone(t *testing.T) {
	const most = 4
	for _, byClient := range []bool{false, true} {
		t.Run(fmt.Sprintf("cancelled=%v", byClient), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log journal
				var cancelled atomic.Int32
				let := make(chan struct{})
				s := newServer()
				for _, name := range []string{"deaf", "deaf_too"} {
					mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
						<-let
						if ctx.Err() != nil {
							cancelled.Add(1)
						}
						return text("late"), nil, nil
					})
				}
				mcp.AddTool(s, &mcp.Tool{Name: "healthy"}, outputs("fine"))
				session := connect(t, s, &boundary.Options{Logger: log.logger(), Deadline: time.Minute, MaxAbandoned: most})
				abandon := func(name string) {
					if !byClient {
						begun := time.Now()
						_, report := callTool(t, session, name, nil)
						require.Equal(t, "timeout", report.Type)
						require.Equal(t, "unknown", report.Effect)
						require.Less(t, time.Since(begun), 2*time.Minute)
						return
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name})
					require.ErrorIs(t, err, context.DeadlineExceeded)
					time.Sleep(time.Second)
				}
				refused := func(name string) {
					_, report := callTool(t, session, name, nil)
					require.Equal(t, "unavailable", report.Type)
					require.Empty(t, report.Effect, "a call that was not run has no effect to tell of")
				}
				for range most {
					abandon("deaf")
				}
				refused("deaf")
				res, _ := callTool(t, session, "healthy", nil)
				require.False(t, res.IsError, "a tool that does not hang")
				abandon("deaf_too") // its first, so it is not refused yet
				refused("deaf_too")
				res, _ = callTool(t, session, "healthy", nil)
				require.False(t, res.IsError)

				close(let)
				synctest.Wait()
				for _, name := range []string{"deaf", "deaf_too"} {
					res, _ := callTool(t, session, name, nil)
					require.Equal(t, []string{"late"}, texts(res), "there is room again")
				}
				require.EqualValues(t, most+1, cancelled.Load(), "the context of an abandoned handler is cancelled")
				var ended int
				for _, r := range log.records(t) {
					if r["msg"] == "abandoned tool call ended" {
						ended++
					}
				}
				require.Equal(t, most+1, ended)
			})
		})
	}
}

// Unknown names count together as one tool. Otherwise a client could leave a handler
// behind for every name it makes up.
func TestMadeUpNamesCountAsOneTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		s := newServer()
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/call" {
					<-let
					return nil, errors.New("late")
				}
				return next(ctx, method, req)
			}
		})
		session := connect(t, s, &boundary.Options{Logger: silent, Deadline: time.Second, MaxAbandoned: 2})
		for i, want := range []string{"timeout", "timeout", "unavailable", "unavailable"} {
			_, report := callTool(t, session, fmt.Sprintf("made up %d", i), nil)
			require.Equal(t, want, report.Type)
		}
		close(let)
		synctest.Wait()
	})
}

// A legacy client answers inside the request, so its call may last as long as people
// take; a modern call may not.
func TestDeadlines(t *testing.T) {
	const old, modern = "2025-11-25", "2026-07-28"
	for _, tc := range []struct {
		explanation string
		opts        boundary.Options
		version     string
		user        time.Duration // how long the user takes to answer
		want        time.Duration // 0: the call is not cut off
	}{
		{"an old client's user has an hour by default", boundary.Options{}, old, 59 * time.Minute, 0},
		{"and no more", boundary.Options{}, old, 61 * time.Minute, time.Hour},
		{"a modern tool has five minutes", boundary.Options{}, modern, 6 * time.Minute, 5 * time.Minute},
		{"and uses them", boundary.Options{}, modern, 4 * time.Minute, 0},
		{"each has its option", boundary.Options{Deadline: time.Hour, LegacyDeadline: time.Second}, old, time.Minute, time.Second},
		{"of which the other is not touched", boundary.Options{Deadline: time.Second, LegacyDeadline: time.Hour}, modern, time.Minute, time.Second},
		{"the longest is as good as none", boundary.Options{LegacyDeadline: math.MaxInt64}, old, 48 * time.Hour, 0},
		{"the tool's own counts for both", boundary.Options{ToolDeadlines: map[string]time.Duration{"asks": time.Minute}}, old, time.Hour, time.Minute},
		{"the tool's own counts for both", boundary.Options{ToolDeadlines: map[string]time.Duration{"asks": time.Minute}}, modern, time.Hour, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			mcp.AddTool(s, &mcp.Tool{Name: "asks"}, func(ctx context.Context, req *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
				if tc.version == old {
					_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
					return text("answered"), nil, err
				}
				select {
				case <-time.After(tc.user):
					return text("answered"), nil, nil
				case <-ctx.Done():
					return nil, nil, ctx.Err()
				}
			})
			tc.opts.Logger = silent
			require.NoError(t, boundary.Install(s, &tc.opts))
			session := dialAs(t, s, "c", tc.version, &mcp.ClientOptions{
				ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					select {
					case <-time.After(tc.user):
					case <-ctx.Done():
					}
					return &mcp.ElicitResult{Action: "accept"}, nil
				}})
			begun := time.Now()
			res, report := callTool(t, session, "asks", nil)
			took := time.Since(begun)
			if tc.want == 0 {
				require.Equal(t, []string{"answered"}, texts(res), tc.explanation)
				require.Equal(t, tc.user, took, tc.explanation)
			} else {
				require.Equal(t, "timeout", report.Type, tc.explanation)
				require.InDelta(t, tc.want, took, float64(time.Second), tc.explanation)
			}
		})
	}
}

// forClient is middleware that changes the list of tools of one client.
func forClient(name string, change func(ctx context.Context, list *mcp.ListToolsResult)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := req.(*mcp.ListToolsRequest); ok && err == nil && list.ClientInfo() != nil && list.ClientInfo().Name == name {
				change(ctx, res.(*mcp.ListToolsResult))
			}
			return res, err
		}
	}
}

// A client whose tools/list hangs waits for itself alone.
func TestAListThatHangsStopsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		s := newServer()
		mcp.AddTool(s, &mcp.Tool{Name: "t"}, outputs("fine"))
		s.AddReceivingMiddleware(forClient("slow", func(context.Context, *mcp.ListToolsResult) { <-let }))
		require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, Deadline: time.Hour}))
		slow, quick := named(t, s, "slow"), named(t, s, "quick")
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			_, _ = slow.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
		}()
		synctest.Wait() // it hangs in its list
		begun := time.Now()
		for range 3 {
			res, _ := callTool(t, quick, "t", nil)
			require.False(t, res.IsError)
		}
		require.Zero(t, time.Since(begun))
		close(let)
		<-answered
	})
}

// A tool that one client is not shown never runs for it while a tier is denied, and is
// never judged by what another client is shown, however their calls interleave.
func TestAListServesItsOwnSessionAlone(t *testing.T) {
	var ranForHidden atomic.Int32
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "secret", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, req *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		if req.ClientInfo().Name == "hidden" {
			ranForHidden.Add(1)
		}
		return text("fine"), nil, nil
	})
	s.AddReceivingMiddleware(forClient("hidden", func(_ context.Context, list *mcp.ListToolsResult) { list.Tools = []*mcp.Tool{} }))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, Deny: []boundary.Tier{boundary.Destructive}}))
	shown, hidden := named(t, s, "shown"), named(t, s, "hidden")
	const tries = 200
	done := make(chan error, 2)
	go func() {
		for range tries {
			if res, err := shown.CallTool(t.Context(), &mcp.CallToolParams{Name: "secret"}); err != nil || res.IsError {
				done <- fmt.Errorf("%v %v", res, err)
				return
			}
		}
		done <- nil
	}()
	go func() {
		for range tries {
			if _, err := hidden.CallTool(t.Context(), &mcp.CallToolParams{Name: "secret"}); err == nil {
				done <- errors.New("the hidden tool was not unknown")
				return
			}
		}
		done <- nil
	}()
	require.NoError(t, errors.Join(<-done, <-done))
	require.Zero(t, ranForHidden.Load())
}

// Without a denied tier too: each client's arguments are judged by the schema that it
// is shown.
func TestASchemaServesItsOwnSessionAlone(t *testing.T) {
	s := newServer()
	s.AddTool(&mcp.Tool{Name: "t", InputSchema: &jsonschema.Schema{Type: "object"}}, returns(text("fine")))
	strict := &mcp.Tool{Name: "t", InputSchema: &jsonschema.Schema{Type: "object", Required: []string{"place"}}}
	s.AddReceivingMiddleware(forClient("strict", func(_ context.Context, list *mcp.ListToolsResult) { list.Tools = []*mcp.Tool{strict} }))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	lax, bound := named(t, s, "lax"), named(t, s, "strict")
	for range 3 {
		res, _ := callTool(t, lax, "t", nil)
		require.False(t, res.IsError)
		_, report := callTool(t, bound, "t", nil)
		require.Equal(t, "validation", report.Type)
	}
}

// A client that leaves handlers behind loses the tools that hang for it, and takes
// neither them nor a slow tool from the others.
func TestAClientCannotTakeAToolFromTheOthers(t *testing.T) {
	const perClient = 3
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		s := newServer()
		for _, name := range []string{"hangs", "slow"} {
			mcp.AddTool(s, &mcp.Tool{Name: name}, func(_ context.Context, req *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
				if req.ClientInfo().Name == "evil" {
					<-let
				}
				return text("fine"), nil, nil
			})
		}
		require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, Deadline: time.Second, MaxAbandoned: 100, MaxAbandonedPerClient: perClient}))
		evil, calm := named(t, s, "evil"), named(t, s, "calm")
		var timeouts, refused int
		for range 20 {
			for _, name := range []string{"slow", "hangs"} {
				_, report := callTool(t, evil, name, nil)
				switch report.Type {
				case "timeout":
					timeouts++
				case "unavailable":
					refused++
					require.Empty(t, report.Effect)
				}
			}
		}
		require.Equal(t, perClient, timeouts)
		require.Equal(t, 40-perClient, refused)
		for _, name := range []string{"slow", "hangs"} {
			res, _ := callTool(t, calm, name, nil)
			require.Equal(t, []string{"fine"}, texts(res))
		}
		close(let)
		synctest.Wait()
		res, _ := callTool(t, evil, "slow", nil)
		require.Equal(t, []string{"fine"}, texts(res), "there is room again")
	})
}

// So it is with prompts and resources, under the same deadline.
func TestAPromptThatHangsIsRefusedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		s := newServer()
		for _, name := range []string{"hangs", "healthy"} {
			s.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				if name == "hangs" {
					<-let
				}
				return &mcp.GetPromptResult{}, nil
			})
			s.AddResource(&mcp.Resource{Name: name, URI: "test://" + name}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				if name == "hangs" {
					<-let
				}
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "fine"}}}, nil
			})
		}
		session := connect(t, s, &boundary.Options{Logger: silent, Deadline: time.Second, MaxAbandoned: 4})
		get := func(name string) error {
			_, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name})
			return err
		}
		read := func(name string) error {
			_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://" + name})
			return err
		}
		for range 2 {
			require.ErrorContains(t, get("hangs"), `Prompt "hangs" did not finish within 1s.`)
			require.ErrorContains(t, read("hangs"), `Resource "test://hangs" did not finish within 1s.`)
		}
		require.ErrorContains(t, get("hangs"), "was not run")
		require.ErrorContains(t, read("hangs"), "was not run")
		require.NoError(t, get("healthy"))
		require.NoError(t, read("healthy"))
		close(let)
	})
}

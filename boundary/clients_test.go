package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

// named connects a further client of this name to a server that has its boundary.
func named(t *testing.T, s *mcp.Server, name string) *mcp.ClientSession {
	t.Helper()
	there, here := mcp.NewInMemoryTransports()
	server, err := s.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { session.Close(); server.Wait() })
	return session
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

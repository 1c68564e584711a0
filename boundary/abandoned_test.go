package boundary_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

// A tool that ignores its context is refused once too many of its handlers are
// left behind, whoever ended the calls; the other tools go on.
func TestAToolThatHangsIsRefusedAlone(t *testing.T) {
	const most = 4
	for _, byClient := range []bool{false, true} {
		t.Run(fmt.Sprintf("cancelled=%v", byClient), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				let := make(chan struct{})
				s := newServer()
				for _, name := range []string{"deaf", "deaf_too"} {
					mcp.AddTool(s, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
						<-let
						return text("late"), nil, nil
					})
				}
				mcp.AddTool(s, &mcp.Tool{Name: "healthy"}, outputs("fine"))
				session := connect(t, s, &boundary.Options{Logger: silent, Deadline: time.Minute, MaxAbandoned: most})
				abandon := func(name string) {
					if !byClient {
						_, report := callTool(t, session, name, nil)
						require.Equal(t, "timeout", report.Type)
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

package boundary_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

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
			there, here := mcp.NewInMemoryTransports()
			server, err := s.Connect(t.Context(), there, nil)
			require.NoError(t, err)
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					select {
					case <-time.After(tc.user):
					case <-ctx.Done():
					}
					return &mcp.ElicitResult{Action: "accept"}, nil
				}})
			session, err := client.Connect(t.Context(), here, &mcp.ClientSessionOptions{ProtocolVersion: tc.version})
			require.NoError(t, err)
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
			session.Close()
			server.Wait()
		})
	}
}

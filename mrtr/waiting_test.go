package mrtr_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse/era"
)

// The calls that wait for their users are counted by tool and by how they wait, with the time of
// the one that has waited longest, until they are answered.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, err := mrtr.New(nil)
		require.NoError(t, err)
		defer rt.Close()
		server := kit.NewServer()
		held := linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ kit.Input) (kit.Output, error) {
			v, err := linear.Ask(ctx, c, kit.Units)
			return kit.Output{Said: v}, err
		})
		mcp.AddTool(server, &mcp.Tool{Name: "held"}, mrtr.Tool(rt, held, nil))
		mcp.AddTool(server, &mcp.Tool{Name: "native"}, mrtr.Tool(rt, mrtr.Native(kit.Asking(kit.Units, kit.Itself)), nil))
		modern, err := wire.Connect(t.Context(), server, nil)
		require.NoError(t, err)
		defer modern.Close()
		legacy, err := wire.Connect(t.Context(), server, kit.Legacy)
		require.NoError(t, err)
		begin := func(tool string) string {
			reply, err := modern.Send(t.Context(), wire.Request{Name: tool, Arguments: kit.Input{}})
			require.NoError(t, err)
			return reply.State
		}
		first := begin("held")
		time.Sleep(time.Minute)
		begin("held")
		begin("native")
		left := make(chan struct{})
		for _, tool := range []string{"held", "native"} {
			go func() {
				_, _ = legacy.Call(t.Context(), tool, kit.Input{}, wire.Answers{"units": wire.Silent})
				left <- struct{}{}
			}()
			synctest.Wait()
		}
		time.Sleep(time.Second)
		waits := func(name string, in era.Era, way string, calls int, longest time.Duration) listen.Waiting {
			return listen.Waiting{Method: "tools/call", Name: name, Era: in, Way: way, Calls: calls, Longest: longest}
		}
		require.Equal(t, []listen.Waiting{
			waits("held", era.Modern, listen.WayHeld, 2, time.Minute+time.Second),
			waits("held", era.Legacy, listen.WayLegacy, 1, time.Second),
			waits("native", era.Legacy, listen.WayLegacy, 1, time.Second),
		}, rt.Waiting())

		require.NoError(t, legacy.Close())
		<-left
		<-left
		_, err = modern.Send(t.Context(), wire.Request{Name: "held", Arguments: kit.Input{}, State: first, Responses: map[string]any{
			"units": map[string]any{"action": "accept", "content": map[string]any{"units": "metric"}},
		}})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []listen.Waiting{waits("held", era.Modern, listen.WayHeld, 1, time.Second)}, rt.Waiting())
	})
}

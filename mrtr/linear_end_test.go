package mrtr_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// A handler asks in the very moment in which its round's time is up. Either its question goes
// out, and the handler is there for the answer, or the call ends and undoes its effects.
func TestAHandlerAsksAsItsTimeIsUp(t *testing.T) {
	ends := map[bool]int{}
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			did, un := &deeds{}, &undone{}
			rt := newTripRuntime(t, &mrtr.Options{State: &statecodec.Options{Ephemeral: true}, Store: store.NewMemory(nil)})
			style := mrtr.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
				ask(s, text("q"))
				once(s, "pay", did.do("pay"))
				s.Call.OnStop("pay", func(_ context.Context, _ string, err error) error { un.note("pay", err); return nil })
				time.Sleep(time.Second)
				_, err := mrtr.Ask(s.ctx, s.Call, text("r"))
				return tripOut{Plan: "done"}, err
			}))
			tool := &tripTool{handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Within: time.Second})}
			last := tool.answer(tool.begin(), "yes")
			asked := last.err == nil
			if asked {
				last = tool.answer(last, "yes")
				require.Equal(t, "done", last.plan, last.err)
				require.Empty(t, un.all())
			} else {
				require.Len(t, un.all(), 1)
			}
			ends[asked]++
			require.Equal(t, 1, did.count("pay"))
		})
	}
	require.NotZero(t, ends[true])
	require.NotZero(t, ends[false])
	t.Logf("asked, or ended: %v", ends)
}

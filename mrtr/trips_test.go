package mrtr_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// A round costs these operations of the store: its claim and its result, one note for
// each effect of a handler that can run again, and for a repeat the one create that is
// refused and shows the result.
func TestOperationsOfARound(t *testing.T) {
	rounds := map[string][]string{
		"native": {"create", "update"}, "coroutine": {"create", "update"},
		"journal": {"create", "update", "update"}, "resumable": {"create", "update", "update"},
		"steps": {"create", "update", "update", "update"}, // the end is an effect too
	}
	styles := everyPayer(func() {}, func() {})
	require.Len(t, styles, len(rounds))
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &hookedStore{Memory: store.NewMemory(nil), scope: store.Machine}
				var mu sync.Mutex
				var done []string
				s.on(func(op operation) error {
					mu.Lock()
					defer mu.Unlock()
					if !strings.HasPrefix(op.key.Name, "inbox.") {
						done = append(done, op.name)
					}
					return nil
				})
				tool := newTrip(newTripRuntime(t, &mrtr.Options{Store: s}), style, "")
				asked := tool.begin()
				take := func() []string {
					mu.Lock()
					defer mu.Unlock()
					took := done
					done = nil
					return took
				}
				take()
				for _, want := range [][]string{rounds[name], {"create"}, {"create"}} {
					require.Equal(t, tripReply{plan: "paid"}, tool.round(context.Background(), "", asked.state, accepting(asked, "yes")))
					require.Equal(t, want, take())
				}
			})
		})
	}
}

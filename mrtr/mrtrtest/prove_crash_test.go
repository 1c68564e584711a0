package mrtrtest_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
)

// A crash ends the process in the middle of the effect: nothing below it runs. A
// tool that notes the effect afterwards has not noted it then.
func TestProveTheCrash(t *testing.T) {
	build := func(charge func(effect func(), l *ledger, state string)) mrtrtest.Build {
		return func(w *mrtrtest.World) *mcp.Server {
			l := mrtrtest.Shared(w, "ledger", func() *ledger { return &ledger{noted: map[string]bool{}} })
			d := &desk{key: w.Key(), charge: func() {}}
			server := d.server()
			mcp.AddTool(server, &mcp.Tool{Name: "book"}, func(ctx context.Context, req *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, booking, error) {
				res, out, err := d.book(ctx, req, in)
				if strings.HasPrefix(out.Text, "Booked") {
					charge(func() { w.Effect("charge") }, l, req.Params.RequestState)
				}
				return res, out, err
			})
			return server
		}
	}
	before := build(func(effect func(), l *ledger, state string) {
		if l.note(state) {
			effect()
		}
	})
	after := build(func(effect func(), l *ledger, state string) {
		if !l.has(state) {
			effect()
			l.note(state)
		}
	})
	once := bookDinner
	once.SingleUse = true
	notedBefore := mrtrtest.Examine(t, before, once, by("round", "effect"))
	require.Empty(t, failed(notedBefore), "%s", notedBefore)
	notedAfter := mrtrtest.Examine(t, after, once, by("round", "effect"))
	require.Contains(t, failed(notedAfter), "round/crash", "%s", notedAfter)
	require.NotContains(t, failed(notedAfter), "round/final-again", "%s", notedAfter)
}

// ledger is a database that the instances of a deployment share.
type ledger struct {
	mu    sync.Mutex
	noted map[string]bool
}

func (l *ledger) note(key string) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.noted[key]
	l.noted[key] = true
	return first
}

func (l *ledger) has(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.noted[key]
}

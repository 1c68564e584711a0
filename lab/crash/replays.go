//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
	"github.com/mrtr-go/sdk/options/replay"
	"github.com/mrtr-go/sdk/store"
)

// runReplays holds the contracts of calls that are played again, at two instances with a handle each.
// By day one style does.
func (b *Backend) runReplays(t *testing.T) {
	stores, styles, played := b.pair(t), stylesOfDay(), 0
	for name, c := range replay.Contracts {
		for _, style := range styles {
			at := stores
			if !c.Holds(style, len(at)) {
				at = at[:1]
			}
			if c.Waits || !c.Holds(style, len(at)) {
				continue
			}
			played++
			t.Run(name+"/"+style, func(t *testing.T) {
				c.Hold(t, style, at, replay.Slow)
			})
		}
	}
	require.Greater(t, played, 20)
}

// runErasures holds what becomes of the records of an erased call, and what two audiences are to each
// other.
func (b *Backend) runErasures(t *testing.T) {
	require.NotEmpty(t, replay.Erasures)
	for name, c := range replay.Erasures {
		t.Run(name, func(t *testing.T) {
			address := b.Addresses(t)()
			c.Hold(t, b.open(t, address), func() []byte { return b.Dump(t, address) })
		})
	}
	require.NotEmpty(t, replay.Audiences)
	for name, a := range replay.Audiences {
		t.Run(name, func(t *testing.T) { a.Hold(t, b.open(t, b.Addresses(t)())) })
	}
}

// open opens the store at an address until the test ends.
func (b *Backend) open(t *testing.T, address string) store.Store {
	s, err := b.Open(t.Context(), address)
	require.NoError(t, err)
	if c, ok := s.(io.Closer); ok {
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	return s
}

// pair is two handles of one store.
func (b *Backend) pair(t *testing.T) (stores []store.Store) {
	address := b.Addresses(t)()
	for range 2 {
		stores = append(stores, b.open(t, address))
	}
	return stores
}

func stylesOfDay() []string {
	if storm.Nightly(1, 0) == 0 {
		return []string{"journal"}
	}
	return replay.Styles
}

// runReplayedKills kills the server of a call at each point of its two rounds. The client plays the
// whole call again at another process. Each effect happens once at most, or the client is told that
// nobody knows; only a call that is over begins anew, unless its intent has a key.
func (b *Backend) runReplayedKills(t *testing.T) {
	points := slices.Concat(fleet.FirstPoints, fleet.Points)
	require.Len(t, points, 9)
	var rows []fleet.Row
	for name, row := range fleet.Styles() {
		if storm.Nightly(1, 0) == 1 || name == "journal" {
			rows = append(rows, row)
		}
	}
	for _, keyed := range []bool{false, true} {
		lines := b.table(t, rows, points, func(c *cell, ctx context.Context, point fleet.Point) string {
			c.job.Holds, c.job.Keyed = true, keyed
			return c.killAndPlayAgain(ctx, point)
		})
		t.Logf("with a key: %t\n%s", keyed, strings.Join(lines, "\n"))
	}
}

// killed plays a call at a server that is killed at a point, and returns another one. If the call does
// not come to that point, alive is its end.
func (c *cell) killed(ctx context.Context, point fleet.Point) (next *fleet.Server, alive *fleet.Answer) {
	trapped := c.job
	trapped.Point = point
	first, next := fleet.StartServer(ctx, trapped), fleet.StartServer(ctx, c.job)
	c.processes = []*fleet.Server{first, next}
	a, err := c.whole(ctx, first)
	if err == nil {
		return next, &a
	}
	fault.Check(first.Died(err))
	return next, nil
}

func (c *cell) killAndPlayAgain(ctx context.Context, point fleet.Point) string {
	next, alive := c.killed(ctx, point)
	if alive != nil {
		return c.notApplicable(*alive)
	}
	a := fault.Must(c.whole(ctx, next))
	happened := map[string]int{}
	for _, line := range fault.Must(c.job.Ledger.Lines()) {
		switch line[0] {
		case "held", "released":
			happened[line[0]]++
		default:
			happened["paid"]++
		}
	}
	held, paid := happened["held"], happened["paid"]
	said := fmt.Sprintf("%d/%d %s", held, paid, a.Class)
	anew := point == fleet.AfterResult && !c.job.Keyed
	if c.row.Name == "coroutine" { // its frame is gone with its process
		anew = anew || paid < 2 && !c.job.Keyed
	}
	switch {
	case anew && held <= 2 && paid <= 2:
	case held > 1, paid > 1, a.Class == "ok" && paid != 1:
		fault.Failf("%s", said)
	}
	return said
}

// whole plays the call from its first request.
func (c *cell) whole(ctx context.Context, at *fleet.Server) (fleet.Answer, error) {
	request, err := at.Ask(ctx, c.order)
	if over := (fleet.Unasked{}); errors.As(err, &over) {
		return over.Answer, nil
	}
	if err != nil {
		return fleet.Answer{}, err
	}
	return at.Settle(ctx, request)
}

//go:build unix

package crash

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
	"github.com/mrtr-go/sdk/options/replay"
)

// runAbandoned holds the contracts of calls that nobody comes back to, many at once, since they
// mostly wait.
func (b *Backend) runAbandoned(t *testing.T) {
	stores := b.pair(t)
	var all []func()
	for name, c := range replay.Abandoned {
		for _, style := range stylesOfDay() {
			at := stores
			if !c.Holds(style, len(at)) {
				at = at[:1]
			}
			all = append(all, func() {
				t.Run(name+"/"+style, func(t *testing.T) { c.Hold(t, style, at, replay.Quick) })
			})
		}
	}
	require.NotEmpty(t, all)
	require.NoError(t, storm.Parallel(len(all), 2*atOnce, func(i int) { all[i]() }))
}

// runAbandonedKills kills the server of a call whose user never comes back, at each point of its two
// turns. Another process undoes the hold, once, if it happened, and never if the call was completed.
func (b *Backend) runAbandonedKills(t *testing.T) {
	points := slices.Concat(fleet.FirstPoints, fleet.Points)
	var rows []fleet.Row
	for name, row := range fleet.Styles() {
		if slices.Contains(stylesOfDay(), name) || storm.Nightly(1, 0) == 1 {
			rows = append(rows, row)
		}
	}
	b.table(t, rows, points, (*cell).killAndLeave)
}

// forgets is how long a state opens whose user does not come back.
const forgets = 2 * time.Second

func (c *cell) killAndLeave(ctx context.Context, point fleet.Point) string {
	c.job.Holds, c.job.TTL = true, forgets
	if _, alive := c.killed(ctx, point); alive != nil {
		return c.notApplicable(*alive)
	}
	stays := point == fleet.HoldStarted || point == fleet.AfterResult // nothing is held, or it is paid for
	happened := map[string]int{}
	held, want, until := 1, 1, time.Now().Add(20*forgets)
	if point == fleet.HoldStarted {
		held = 0
	}
	if stays { // it takes seven seconds else, and two leases where a turn has a dead holder
		want, until = 0, time.Now().Add(7*forgets)
	}
	for time.Now().Before(until) && (stays || happened["released"] == 0) {
		select {
		case <-time.After(forgets / 4):
		case <-ctx.Done():
			fault.Check(ctx.Err())
		}
		clear(happened)
		for _, line := range fault.Must(c.job.Ledger.Lines()) {
			happened[line[0]]++
		}
	}
	if happened["held"] != held || happened["released"] != want || happened[c.order] > 1 {
		fault.Failf("held, released and paid: %v", happened)
	}
	return fmt.Sprint(happened)
}

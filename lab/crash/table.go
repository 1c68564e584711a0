//go:build unix

package crash

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
)

// table plays each row at each point, and returns the lines: how often the effect happened,
// and the answers.
func (b *Backend) table(t *testing.T, rows []fleet.Row, points []fleet.Point, play func(*cell, context.Context, fleet.Point) string) []string {
	t.Helper()
	addresses, said := b.Addresses(t), make([]string, len(rows)*len(points))
	require.NoError(t, storm.Parallel(len(said), atOnce, func(i int) {
		row, point := rows[i/len(points)], points[i%len(points)]
		c := &cell{row: row, order: rand.Text(), job: fleet.Job{
			Backend: b.Name, Address: addresses(), Ledger: fleet.NewLedger(t),
			Key: fleet.NewKey(), Row: row.Name, Lease: lease,
		}}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		defer c.end()
		fault.During(fmt.Sprintf("%s, %s", row.Name, point), func() { said[i] = play(c, ctx, point) })
	}))
	var lines []string
	for i, row := range rows {
		lines = append(lines, "| "+row.Name+" | "+strings.Join(said[i*len(points):][:len(points)], " | ")+" |")
	}
	require.NotEmpty(t, said)
	return lines
}

// cell is one call, with a ledger of its own.
type cell struct {
	job       fleet.Job
	row       fleet.Row
	order     string
	processes []*fleet.Server
}

func (c *cell) end() {
	for _, p := range c.processes {
		p.End()
	}
}

// asked starts the two processes of a call. The first has a job of its own and asks
// the question. The request answers it.
func (c *cell) asked(ctx context.Context, of fleet.Job) (first, next *fleet.Server, request wire.Request) {
	first, next = fleet.StartServer(ctx, of), fleet.StartServer(ctx, c.job)
	c.processes = []*fleet.Server{first, next}
	return first, next, fault.Must(first.Ask(ctx, c.order))
}

// kill plays a call whose server is killed at a point: how often the effect happened, and the
// answer of the next process to the same request.
func (c *cell) kill(ctx context.Context, point fleet.Point) string {
	trapped := c.job
	trapped.Point = point
	first, next, request := c.asked(ctx, trapped)
	a, err := first.Settle(ctx, request)
	if err == nil {
		return c.notApplicable(a)
	}
	fault.Check(first.Died(err))
	return c.say(fault.Must(next.Settle(ctx, request)))
}

// freezes are the points at which a process is stopped.
var freezes = []fleet.Point{fleet.AfterClaim, fleet.Started, fleet.AfterEffect}

// freeze stops a process at a point, lets another one take the round over, and then wakes the
// first: how often the effect happened, the answer of the other process, and that of the
// first when it woke.
func (c *cell) freeze(ctx context.Context, point fleet.Point) string {
	trapped := c.job
	trapped.Point, trapped.Stop = point, true
	first, next, request := c.asked(ctx, trapped)
	woken := make(chan reply, 1)
	go func() {
		a, err := first.Settle(ctx, request)
		woken <- reply{a, err}
	}()
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	standing := make(chan error, 1)
	go func() { standing <- first.Halted(watching) }()
	select {
	case r := <-woken:
		cancel()
		<-standing
		fault.Check(r.err)
		return c.notApplicable(r.Answer)
	case err := <-standing:
		fault.Check(err)
	}
	taken := fault.Must(next.Settle(ctx, request))
	fault.Check(first.Thaw())
	r := <-woken
	fault.Check(r.err)
	said := c.say(taken)
	if r.Class == "ok" && taken.Class == "ok" && r.Receipt != taken.Receipt {
		fault.Failf("two receipts: %v, then %v", taken.Receipt, r.Receipt)
	}
	return said + ", then " + r.Class
}

// say counts the effects beside an answer.
func (c *cell) say(a fleet.Answer) string {
	paid := fault.Must(fleet.Payments(c.job.Ledger))
	switch {
	case a.Class == "ok" && !slices.Contains(paid, a.Receipt):
		fault.Failf("the receipt %v is for no payment: %v", a.Receipt, paid)
	case len(paid) < 2:
		return fmt.Sprintf("%d %s", len(paid), a.Class)
	case !c.row.Twice:
		fault.Failf("paid more than once: %v", paid)
	case slices.ContainsFunc(paid, func(p fleet.Receipt) bool { return p != paid[0] }):
		fault.Failf("paid with other keys: %v", paid)
	}
	return fmt.Sprintf("**%d** %s, same idem", len(paid), a.Class)
}

// notApplicable is the cell of a round that has no such point, so that nothing happened to it.
func (c *cell) notApplicable(a fleet.Answer) string {
	if c.say(a) != "1 ok" {
		fault.Failf("nothing happened to it, and it came to %s", c.say(a))
	}
	return "n/a"
}

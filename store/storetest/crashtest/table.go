//go:build unix

package crashtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store/storetest/internal/fault"
)

const (
	// lease is short, as every doubtful cell waits for its end.
	lease = 2 * time.Second
	// atOnce is how many cells are played at the same time.
	atOnce = 10
	// patience bounds one cell.
	patience = 90 * time.Second
)

// At is one address for all calls.
func At(address string) func() string { return func() string { return address } }

// Kill kills a process at each of the points, in each of the rows, and returns the
// lines of the table: how often the effect happened, and the answer of the next
// process to the same request.
func Kill(t *testing.T, addresses func() string, rows []Row, points []Point) []string {
	t.Helper()
	return table(t, addresses, rows, points, (*cell).kill)
}

func table(t *testing.T, addresses func() string, rows []Row, points []Point, play func(*cell, context.Context, Point) string) []string {
	t.Helper()
	require.NotEmpty(t, rows)
	require.NotEmpty(t, points)
	said := make([]string, len(rows)*len(points))
	require.NoError(t, parallel(len(said), atOnce, func(i int) {
		c, point := newCell(t, addresses(), rows[i/len(points)]), points[i%len(points)]
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		defer c.end()
		fault.During(fmt.Sprintf("%s, %s", c.row.Name, point), func() { said[i] = play(c, ctx, point) })
	}))
	var lines []string
	for i, row := range rows {
		lines = append(lines, "| "+row.Name+" | "+strings.Join(said[i*len(points):][:len(points)], " | ")+" |")
	}
	return lines
}

// parallel runs a check n times, at most so many at once, and joins the faults.
func parallel(n, most int, check func(i int)) error {
	slots := make(chan struct{}, most)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = fault.Caught(func() { check(i) })
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// cell is one call, with a till of its own.
type cell struct {
	job       job
	row       Row
	order     string
	processes []*process
}

func newCell(t *testing.T, address string, row Row) *cell {
	return &cell{row: row, order: rand.Text(), job: job{
		Address: address, Till: filepath.Join(t.TempDir(), "payments"), Key: newKey(), Row: row.Name, Lease: lease,
	}}
}

func (c *cell) start(ctx context.Context, j job) *process {
	p := fault.Must(start(ctx, j))
	c.processes = append(c.processes, p)
	return p
}

func (c *cell) end() {
	for _, p := range c.processes {
		p.end()
	}
}

// asked starts the two processes of a call. The first has a job of its own and asks
// the question. The request answers it.
func (c *cell) asked(ctx context.Context, of job) (first, next *process, request wire.Request) {
	first, next = c.start(ctx, of), c.start(ctx, c.job)
	return first, next, fault.Must(first.Ask(ctx, c.order))
}

// kill plays a call whose server is killed at a point.
func (c *cell) kill(ctx context.Context, point Point) string {
	trapped := c.job
	trapped.Point = point
	first, next, request := c.asked(ctx, trapped)
	a, err := first.Settle(ctx, request)
	if err == nil {
		// It has no such point, and so was not killed.
		if a.Class != "ok" {
			fault.Failf("nothing happened to it, and it answered %v", a)
		}
		return c.notApplicable(ctx)
	}
	fault.Check(first.died(err))
	return c.say(ctx, fault.Must(next.Settle(ctx, request)))
}

// freezes are the points at which a process is stopped.
var freezes = []Point{AfterClaim, Started, AfterEffect}

// freeze stops a process at three points, in each of the rows, lets another one take
// the round over, and then wakes the first. It fails if the effect happens twice,
// unless the row allows it. Each cell of the lines it returns is: how often the effect
// happened, the answer of the other process, and that of the first when it woke.
func freeze(t *testing.T, addresses func() string) []string {
	t.Helper()
	return table(t, addresses, Rows, freezes, (*cell).freeze)
}

// freeze plays a call whose server is stopped at a point.
func (c *cell) freeze(ctx context.Context, point Point) string {
	trapped := c.job
	trapped.Point, trapped.Stop = point, true
	first, next, request := c.asked(ctx, trapped)
	woken := make(chan reply, 1)
	go func() {
		a, err := first.Settle(ctx, request)
		woken <- reply{a, err}
	}()
	stopped, cancel := context.WithCancel(ctx)
	defer cancel()
	standing := make(chan error, 1)
	go func() { standing <- first.stopped(stopped) }()
	select {
	case r := <-woken: // it has no such point
		cancel()
		<-standing
		fault.Check(r.err)
		return c.notApplicable(ctx)
	case err := <-standing:
		fault.Check(err)
	}
	taken := fault.Must(next.Settle(ctx, request))
	fault.Check(first.thaw())
	r := <-woken
	fault.Check(r.err)
	said := c.say(ctx, taken)
	if r.Class == "ok" && taken.Class == "ok" && r.Receipt != taken.Receipt {
		fault.Failf("two receipts: %v, then %v", taken.Receipt, r.Receipt)
	}
	return said + ", then " + r.Class
}

// say counts the effects beside an answer.
func (c *cell) say(ctx context.Context, a Answer) string {
	paid := c.paid(ctx)
	switch {
	case a.Class == "ok" && !slices.Contains(paid, a.Receipt):
		fault.Failf("the receipt %v is for no payment: %v", a.Receipt, paid)
	case len(paid) < 2:
		return fmt.Sprintf("%d %s", len(paid), a.Class)
	case !c.row.Twice:
		fault.Failf("paid more than once: %v", paid)
	case slices.ContainsFunc(paid, func(p Receipt) bool { return p != paid[0] }):
		fault.Failf("paid with other keys: %v", paid)
	}
	return fmt.Sprintf("**%d** %s, same idem", len(paid), a.Class)
}

// notApplicable is the cell of a round that has no such point.
func (c *cell) notApplicable(ctx context.Context) string {
	if paid := c.paid(ctx); len(paid) > 1 {
		fault.Failf("paid %d times: %v", len(paid), paid)
	}
	return "n/a"
}

func (c *cell) paid(ctx context.Context) []Receipt {
	if c.row.Paid == nil {
		return fault.Must(readPayments(c.job.Till))
	}
	return fault.Must(c.row.Paid(ctx, c.job.Address, c.order))
}

func newKey() string { return statecodec.GenerateKey().Text() }

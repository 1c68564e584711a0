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

func table(t *testing.T, addresses func() string, rows []Row, points []Point, play func(*cell, context.Context, Point) (string, error)) []string {
	t.Helper()
	require.NotEmpty(t, rows)
	require.NotEmpty(t, points)
	said := make([]string, len(rows)*len(points))
	require.NoError(t, parallel(len(said), atOnce, func(i int) (err error) {
		row, point := rows[i/len(points)], points[i%len(points)]
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if said[i], err = play(newCell(t, addresses(), row), ctx, point); err != nil {
			err = fmt.Errorf("%s, %s: %w", row.Name, point, err)
		}
		return err
	}))
	var lines []string
	for i, row := range rows {
		lines = append(lines, "| "+row.Name+" | "+strings.Join(said[i*len(points):][:len(points)], " | ")+" |")
	}
	return lines
}

// parallel runs f n times, at most so many at once, and joins the errors.
func parallel(n, most int, f func(i int) error) error {
	slots := make(chan struct{}, most)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = f(i)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// cell is one call, with a till of its own.
type cell struct {
	job   job
	row   Row
	order string
}

func newCell(t *testing.T, address string, row Row) *cell {
	return &cell{row: row, order: rand.Text(), job: job{
		Address: address, Till: filepath.Join(t.TempDir(), "payments"), Key: newKey(), Row: row.Name, Lease: lease,
	}}
}

// asked starts the two processes of a call. The first has a job of its own and asks
// the question. The request answers it.
func (c *cell) asked(ctx context.Context, of job) (first, next *process, request wire.Request, err error) {
	if first, err = start(ctx, of); err != nil {
		return nil, nil, request, err
	}
	if next, err = start(ctx, c.job); err != nil {
		first.end()
		return nil, nil, request, err
	}
	if request, err = first.Ask(ctx, c.order); err != nil {
		first.end()
		next.end()
	}
	return first, next, request, err
}

// kill plays a call whose server is killed at a point.
func (c *cell) kill(ctx context.Context, point Point) (string, error) {
	trapped := c.job
	trapped.Point = point
	first, next, request, err := c.asked(ctx, trapped)
	if err != nil {
		return "", err
	}
	defer first.end()
	defer next.end()
	a, err := first.Settle(ctx, request)
	if err == nil {
		// It has no such point, and so was not killed.
		if a.Class != "ok" {
			return "", fmt.Errorf("nothing happened to it, and it answered %v", a)
		}
		return "n/a", c.paidAtMost(ctx, 1)
	}
	if err := first.died(err); err != nil {
		return "", err
	}
	a, err = next.Settle(ctx, request)
	if err != nil {
		return "", err
	}
	return c.say(ctx, a)
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
func (c *cell) freeze(ctx context.Context, point Point) (string, error) {
	trapped := c.job
	trapped.Point, trapped.Stop = point, true
	first, next, request, err := c.asked(ctx, trapped)
	if err != nil {
		return "", err
	}
	defer first.end()
	defer next.end()
	type outcome struct {
		Answer
		err error
	}
	woken := make(chan outcome, 1)
	go func() {
		a, err := first.Settle(ctx, request)
		woken <- outcome{a, err}
	}()
	stopped, cancel := context.WithCancel(ctx)
	defer cancel()
	standing := make(chan error, 1)
	go func() { standing <- first.stopped(stopped) }()
	select {
	case o := <-woken: // it has no such point
		cancel()
		<-standing
		if o.err != nil {
			return "", o.err
		}
		return "n/a", c.paidAtMost(ctx, 1)
	case err := <-standing:
		if err != nil {
			return "", err
		}
	}
	taken, err := next.Settle(ctx, request)
	if err != nil {
		return "", err
	}
	if err := first.thaw(); err != nil {
		return "", err
	}
	o := <-woken
	if o.err != nil {
		return "", o.err
	}
	said, err := c.say(ctx, taken)
	if err != nil {
		return "", err
	}
	if o.Class == "ok" && taken.Class == "ok" && o.Receipt != taken.Receipt {
		return "", fmt.Errorf("two receipts: %v, then %v", taken.Receipt, o.Receipt)
	}
	return said + ", then " + o.Class, nil
}

// The fates of the process that holds the frame, when a request for it comes to
// another one.
const (
	holderAlive       Point = "alive"
	holderSlow        Point = "slow"
	holderFrozen      Point = "frozen"
	holderKilled      Point = "killed"
	holderKilledAtIt  Point = "killed at work"
	holderKilledAfter Point = "killed after the effect"
)

// fates are those of the table.
var fates = []Point{holderAlive, holderSlow, holderFrozen, holderKilled, holderKilledAtIt, holderKilledAfter}

// elsewhere sends the last request of each call to another process than the one that holds
// its handler, with nothing but the store between them. Each cell is: how often the effect
// happened, the answer, and, of a frozen process, the answer to the same request when it
// wakes.
func elsewhere(t *testing.T, addresses func() string) []string {
	t.Helper()
	return table(t, addresses, []Row{Find("coroutine"), Find("resumable")}, fates, (*cell).elsewhere)
}

// longestElsewhere bounds the answer: the wait for the holder, and for its lease.
const longestElsewhere = 30 * time.Second

func (c *cell) elsewhere(ctx context.Context, holder Point) (string, error) {
	holding := c.job
	switch holder {
	case holderSlow:
		holding.Slow = time.Second
	case holderKilledAtIt:
		holding.Point = AfterClaim
	case holderKilledAfter:
		holding.Point = AfterEffect
	}
	first, next, request, err := c.asked(ctx, holding)
	if err != nil {
		return "", err
	}
	defer first.end()
	defer next.end()
	if _, err := next.Ask(ctx, "another"); err != nil { // it has started
		return "", err
	}
	switch holder {
	case holderKilled:
		first.end()
	case holderFrozen:
		if err := first.halt(ctx); err != nil {
			return "", err
		}
	}
	began := time.Now()
	a, err := next.Settle(ctx, request)
	if err != nil {
		return "", err
	}
	if took := time.Since(began); took > longestElsewhere {
		return "", fmt.Errorf("the answer took %v", took)
	}
	said, err := c.say(ctx, a)
	if err != nil || holder != holderFrozen {
		return said, err
	}
	if err := first.thaw(); err != nil {
		return "", err
	}
	again, err := next.Settle(ctx, request)
	if err != nil {
		return "", err
	}
	after, err := c.say(ctx, again)
	return said + ", then " + after, err
}

// say counts the effects beside an answer.
func (c *cell) say(ctx context.Context, a Answer) (string, error) {
	paid, err := c.paid(ctx)
	if err != nil {
		return "", err
	}
	if a.Class == "ok" && !slices.Contains(paid, a.Receipt) {
		return "", fmt.Errorf("the receipt %v is for no payment: %v", a.Receipt, paid)
	}
	switch len(paid) {
	case 0, 1:
		return fmt.Sprintf("%d %s", len(paid), a.Class), nil
	}
	if !c.row.Twice {
		return "", fmt.Errorf("paid more than once: %v", paid)
	}
	for _, p := range paid {
		if p != paid[0] {
			return "", fmt.Errorf("paid with other keys: %v", paid)
		}
	}
	return fmt.Sprintf("**%d** %s, same idem", len(paid), a.Class), nil
}

func (c *cell) paid(ctx context.Context) ([]Receipt, error) {
	if c.row.Paid == nil {
		return readPayments(c.job.Till)
	}
	return c.row.Paid(ctx, c.job.Address, c.order)
}

func (c *cell) paidAtMost(ctx context.Context, n int) error {
	paid, err := c.paid(ctx)
	if err == nil && len(paid) > n {
		err = fmt.Errorf("paid %d times: %v", len(paid), paid)
	}
	return err
}

func newKey() string { return statecodec.GenerateKey().Text() }

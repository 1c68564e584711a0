//go:build unix

package killed

import (
	"context"
	"fmt"
	"testing"
)

// FrozenPoints are those at which Frozen stops a process.
var FrozenPoints = []Point{AfterClaim, Started, AfterEffect}

// Frozen stops a process at three points, in each of the rows, lets another one take
// the round over, and then wakes the first. It fails where the effect happens
// twice, but in a row that allows it. Each cell of the lines it returns is: how often
// the effect happened, the answer of the other process, and that of the first when it woke.
func Frozen(t *testing.T, where Where, rows []Row) []string {
	t.Helper()
	return table(t, where, rows, FrozenPoints, (*cell).frozen)
}

func (c *cell) frozen(ctx context.Context, point Point) (string, error) {
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

//go:build unix

package crashtest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

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

// Elsewhere sends the last request of each call to another process than the one that holds
// its handler, with nothing but the store between them. Each cell is: how often the effect
// happened, the answer, and, of a frozen process, the answer to the same request when it
// wakes.
func Elsewhere(t *testing.T, addresses func() string) []string {
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

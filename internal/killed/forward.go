//go:build unix

package killed

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
)

// ForwardRows are the styles that hold a frame.
var ForwardRows = []Row{
	Find("coroutine"),
	{
		Name: "resumable, forwarded", Opts: mrtr.HandlerOptions{Forwarded: true},
		Style: func(till *Till) mrtr.Style[Order, Receipt] { return mrtr.Resumable(Linear(till, onceOnly(till))) },
	},
}

// The fates of the process that holds the frame, when a request for it comes to
// another one.
const (
	HolderAlive       Point = "alive"
	HolderSlow        Point = "slow"
	HolderFrozen      Point = "frozen"
	HolderKilled      Point = "killed"
	HolderKilledAtIt  Point = "killed at work"
	HolderKilledAfter Point = "killed after the effect"
)

// Holders are those of the table.
var Holders = []Point{HolderAlive, HolderSlow, HolderFrozen, HolderKilled, HolderKilledAtIt, HolderKilledAfter}

// Forward sends the last request of each call to another process than the one that
// holds its frame. Each cell of the lines it returns is: how often the effect happened,
// the answer, and, of a frozen process, the answer to the same request when it wakes.
func Forward(t *testing.T, where Where) []string {
	t.Helper()
	return table(t, where, ForwardRows, Holders, (*cell).forwarded)
}

// longestForward bounds the answer: the wait for the holder, and for its lease.
const longestForward = 15 * time.Second

func (c *cell) forwarded(ctx context.Context, holder Point) (string, error) {
	c.job.Forwards = true
	holding := c.job
	switch holder {
	case HolderSlow:
		holding.Slow = time.Second
	case HolderKilledAtIt:
		holding.Point = AfterClaim
	case HolderKilledAfter:
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
	case HolderKilled:
		first.end()
	case HolderFrozen:
		if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return "", err
		}
		if err := first.stopped(ctx); err != nil {
			return "", err
		}
	}
	began := time.Now()
	a, err := next.Settle(ctx, request)
	if err != nil {
		return "", err
	}
	if took := time.Since(began); took > longestForward {
		return "", fmt.Errorf("the answer took %v", took)
	}
	said, err := c.say(ctx, a)
	if err != nil || holder != HolderFrozen {
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

//go:build unix

// Package deploy_test runs instances of a server as processes of their own, behind a router,
// replaces and breaks them under load, and counts what became of each call.
package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// count is what became of the calls of one kind of client.
type count struct {
	calls, done, told, final, lost atomic.Int64

	mu   sync.Mutex
	whys []string // guarded by mu: of the final errors, and of the calls that were lost
	left []string // guarded by mu: the orders of clients that did not go on
}

func (c *count) lose(err error) {
	c.lost.Add(1)
	c.why(err)
}

func (c *count) why(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whys = append(c.whys, err.Error())
}

func (c *count) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d calls, %d done, %d refused and sent again, %d begun anew, %d final errors, %d lost",
		c.calls.Load(), c.done.Load(), c.told.Load(), len(c.left), c.final.Load(), c.lost.Load())
}

// TestADeployLosesNothing replaces each of three instances, one after the other, while
// clients call: behind the router, and behind a load balancer that knows no names, where
// sessions and coroutines would need one. Nothing is lost for a client that repeats a request after -31001.
// One that can't begins its call anew, and what the first one holds stays.
func TestADeployLosesNothing(t *testing.T) {
	for _, front := range []string{"router", "load balancer"} {
		for way, programs := range releases() {
			t.Run(front+way, func(t *testing.T) {
				t.Parallel()
				f := newSite(t, job{Lease: 15 * time.Second, program: programs[0]}, nil)
				if front == "load balancer" {
					f.front = newBalancer(t, f)
				}
				f.losesNothing(t, f.deploy(t, programs[1]))
			})
		}
	}
}

// losesNothing requires that no call of a deploy was lost, and that its effects are right.
func (f *site) losesNothing(t *testing.T, counts map[string]*count) {
	t.Log(f.router.Load().States())
	left := map[string]bool{}
	for _, c := range counts {
		for _, order := range c.left {
			left[order] = true
		}
	}
	effects := f.effects(t, left)
	t.Logf("%d held, %d charged", effects.held, effects.charged)
	require.Positive(t, effects.charged)
	for kind, c := range counts {
		t.Logf("%-20s %v", kind, c)
		for _, why := range c.whys {
			t.Errorf("%s: %s", kind, why)
		}
		readsAll := os.Getenv("MRTR_STATES") != "refused"
		if strings.HasPrefix(kind, "raw") && strings.HasSuffix(kind, "HTTP") && readsAll || f.front != nil && strings.HasSuffix(kind, "HTTP") && os.Getenv("MRTR_BEFORE") == "" {
			require.Empty(t, c.left, kind)
		}
	}
	for _, wrong := range append(effects.wrong, effects.twice...) {
		t.Error(wrong)
	}
}

// deploy replaces the instances by those of a release under load, MRTR_DEPLOYS times if that is set.
func (f *site) deploy(t *testing.T, release string) map[string]*count {
	rounds := 1
	if os.Getenv("MRTR_NIGHTLY") == "1" {
		rounds = 3
	}
	if n, err := strconv.Atoi(os.Getenv("MRTR_DEPLOYS")); err == nil {
		rounds = n
	}
	counts := map[string]*count{}
	over := make(chan struct{})
	var clients sync.WaitGroup
	for kind, open := range kinds {
		if f.front != nil && strings.HasSuffix(kind, "session") {
			continue
		}
		styles := styleNames
		if f.front != nil || strings.Contains(kind, "task") { // nobody on the way knows where a coroutine is held
			styles = slices.DeleteFunc(slices.Clone(styles), func(name string) bool { return name == "coroutine" })
		}
		c := &count{}
		counts[kind] = c
		for i := range 3 {
			client := open(t, f.url, c)
			if client == nil {
				break
			}
			clients.Go(func() {
				defer client.close()
				for n := i; ; n++ {
					select {
					case <-over:
						return
					default:
					}
					c.play(t.Context(), client, styles[n%len(styles)], strings.ReplaceAll(fmt.Sprintf("%s-%d-%d", kind, i, n), " ", ""))
				}
			})
		}
	}
	for range rounds {
		for _, name := range names {
			began := time.Now()
			f.instances[name] = f.instances[name].replace(t, release)
			t.Logf("%s was replaced in %v", name, time.Since(began).Round(time.Millisecond))
			time.Sleep(2 * time.Second) // as long as the pause of the stop, until all know of it
		}
	}
	close(over)
	clients.Wait()
	return counts
}

// play makes a call to its end, and begins it anew where the client can't go on.
func (c *count) play(ctx context.Context, client caller, style, order string) {
	c.calls.Add(1)
	for n := 0; ; n++ {
		name := fmt.Sprintf("%s-%s-%d/ok/3s", style, order, n) // an effect takes three seconds
		err := client.call(ctx, style, name)
		var final *finalError
		switch {
		case err == nil:
			c.done.Add(1)
			return
		case errors.As(err, &final) && !begunElsewhere(err):
			c.final.Add(1)
			c.why(fmt.Errorf("%s: %w", name, err))
			return
		case errors.Is(err, errTold), begunElsewhere(err):
			c.mu.Lock()
			c.left = append(c.left, name)
			c.mu.Unlock()
			time.Sleep(50 * time.Millisecond)
		default:
			c.lose(fmt.Errorf("%s: %w", name, err))
			return
		}
	}
}

// begunElsewhere reports whether a state was refused that one release does not read of the other, which
// MRTR_STATES=refused says. Its user begins anew.
func begunElsewhere(err error) bool {
	return os.Getenv("MRTR_STATES") == "refused" && strings.Contains(err.Error(), statecodec.Refusal)
}

// effects are what the ledger says.
type effects struct {
	held, begun, charged int
	wrong, twice         []string // what has no end, and what was charged again
}

// effects reads the ledger. The calls of the orders that were left have no end.
func (f *site) effects(t *testing.T, left map[string]bool) effects {
	t.Helper()
	lines, err := f.ledger().Lines()
	require.NoError(t, err)
	times := map[string]map[string]int{}
	for _, words := range lines {
		effect, order := words[0], words[len(words)-1]
		if effect != "held" && effect != "released" && effect != "charging" { // a payment: its order, and a key
			effect, order = "charged", words[0]
		}
		if times[order] == nil {
			times[order] = map[string]int{}
		}
		times[order][effect]++
	}
	var e effects
	for order, n := range times {
		e.held += n["held"]
		e.begun += n["charging"]
		e.charged += n["charged"]
		switch {
		case n["charging"] != n["charged"]:
			e.wrong = append(e.wrong, order+": the charge has no end")
		case n["charged"] > 1:
			e.twice = append(e.twice, fmt.Sprintf("%s: charged %d times", order, n["charged"]))
		case n["held"] > n["charged"]+n["released"] && !left[order]:
			e.wrong = append(e.wrong, fmt.Sprintf("%s: held %d times, charged %d times and released %d times", order, n["held"], n["charged"], n["released"]))
		}
	}
	slices.Sort(e.wrong)
	return e
}

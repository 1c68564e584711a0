//go:build unix

package crash

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
)

// Event befalls the servers behind a store while calls are made.
type Event struct {
	Name string
	// Set sets the servers up. They stop when the test ends.
	Set func(t *testing.T) Scene
	// Keeps says that no acknowledged write is lost, so that no call is to end in doubt.
	Keeps bool
	// Splits says that two servers take writes, so that only an effect that asks first is safe.
	Splits bool
	// Daily is played by day too.
	Daily bool
}

// Scene is what an event happens to. Its functions report faults to the test.
type Scene struct {
	// Open opens the store as an instance does that starts now. The instances are numbered, for
	// those that reach different servers.
	Open func(instance int) store.Store
	// Process, if set, starts an instance that is a process instead. Each effect lasts then, and
	// both instances get each request at once, and all calls come after the event has begun.
	Process func(instance int, l fleet.Ledger) *fleet.Server
	Lasts   time.Duration
	// Before, if set, is called at a quarter of the calls, and At at half of them.
	Before, At func()
	// Restarts says that the instances end before At, and others start after it.
	Restarts bool
}

const (
	sceneWorkers = 8
	// sceneTime bounds one event, and sceneRound how long a client waits meanwhile.
	sceneTime  = 4 * time.Minute
	sceneRound = 8 * time.Second
)

// sceneRemember gives a store up soon.
var sceneRemember = durable.Options{Lease: 2 * time.Second, Patience: 500 * time.Millisecond, Wait: 2 * time.Second}

// sceneTools are the tools of an instance: an effect that nobody can ask about, and one that
// somebody can. Where the store splits it asks about each attempt.
func (e *Event) sceneTools(s Scene) []string {
	if s.Process != nil { // which has all, and lets a coroutine run in one of them alone
		return slices.DeleteFunc(slices.Sorted(maps.Keys(fleet.Styles())), func(name string) bool { return name == "coroutine" })
	}
	if e.Splits {
		return []string{"journal", "journal + CheckFirst"}
	}
	return []string{"journal", "journal + Check"}
}

// RunEvents plays events, and logs a line of the table for each: its calls by their last
// answer, those that were paid twice, and the answers that the ledger denies.
func RunEvents(t *testing.T, backend string, events []Event) {
	require.NotEmpty(t, events)
	for _, e := range events {
		t.Run(e.Name, func(t *testing.T) {
			if !e.Daily && storm.Nightly(1, 0) == 0 {
				t.Log("it is played at night")
				return
			}
			s := e.Set(t)
			p := &play{Scene: s, t: t, tools: e.sceneTools(s), all: fleet.NewInstances(t), calls: make([]*sceneCall, storm.Nightly(240, 60))}
			p.run()
			line := fmt.Sprintf("| %s | %s | %s |", backend, e.Name, p.sums())
			t.Log(line)
			if path := os.Getenv("MRTR_TABLE"); path != "" {
				require.NoError(t, fleet.Ledger(path).Enter(line))
			}
			require.Zero(t, p.twice, "paid twice")
			require.Zero(t, p.denied, "answers that the ledger denies")
			require.Equal(t, len(p.calls), p.ends["ok"]+p.ends["unknown"]+p.ends["refused"]+p.ends[unasked], "%v", p.ends)
			if e.Keeps {
				require.Zero(t, p.ends["unknown"], "nothing was lost")
			}
		})
	}
}

// play is one event.
type play struct {
	Scene
	t     *testing.T
	all   *fleet.Instances
	tools []string
	calls []*sceneCall
	done  atomic.Int64 // calls

	mu        sync.Mutex
	instances []*wire.Client // guarded by mu

	ends          map[string]int
	twice, denied int
}

// sceneCall is one call of two rounds.
type sceneCall struct {
	tool, order string
	request     wire.Request
	asked       bool

	mu      sync.Mutex
	answers []fleet.Answer // guarded by mu: to the second round, each as it came
}

const (
	// stuck is the end of a call that gets no answer, and unasked that of one which never got
	// its question.
	stuck   = "stuck"
	unasked = "unasked"
)

func (p *play) start(instance int) {
	var conn *wire.Client
	if p.Process != nil {
		conn = p.Process(instance, p.all.Ledger).Conn
	} else {
		tools := map[string]fleet.Row{}
		for _, name := range p.tools {
			tools[name] = fleet.Find(name)
		}
		_, conn = p.all.Start(p.t, p.Open(instance), sceneRemember, tools, nil)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.instances = append(p.instances, conn)
}

// run makes the calls, of which half come after the event, and sends all of them again.
func (p *play) run() {
	ctx, cancel := context.WithTimeout(p.t.Context(), sceneTime)
	defer cancel()
	p.startAll()
	struck := make(chan error, 1)
	quarter := len(p.calls) / 4
	first, second := p.calls[:2*quarter], p.calls[2*quarter:]
	if p.Lasts > 0 {
		first, second = nil, p.calls
	}
	p.each(first, func(c *sceneCall) {
		p.serve(ctx, c, sceneRound)
		if p.done.Add(1) == int64(quarter) && p.Before != nil {
			p.Before()
		}
	})
	if p.Restarts {
		for _, conn := range p.instances {
			_ = conn.Close()
		}
		p.instances = nil
		p.At()
		p.startAll()
		struck <- nil
	} else {
		go func() { struck <- fault.Caught(p.At) }()
	}
	p.each(second, func(c *sceneCall) { p.serve(ctx, c, sceneRound) })
	require.NoError(p.t, <-struck)
	require.NoError(p.t, fault.Caught(func() { p.start(len(p.instances)) }))
	for range 2 { // it stays the answer
		p.each(p.calls, func(c *sceneCall) { p.settle(ctx, c) })
	}
	p.judge()
}

func (p *play) startAll() {
	for i := range 2 {
		require.NoError(p.t, fault.Caught(func() { p.start(i) }))
	}
}

func (p *play) each(calls []*sceneCall, play func(*sceneCall)) {
	workers := sceneWorkers
	if p.Lasts > 0 { // which mostly wait
		workers *= 3
	}
	require.NoError(p.t, storm.Parallel(len(calls), workers, func(i int) {
		if calls[i] == nil {
			calls[i] = &sceneCall{tool: p.tools[mathrand.IntN(len(p.tools))], order: fmt.Sprintf("%s/ok/%v", rand.Text(), p.Lasts)}
		}
		play(calls[i])
	}))
}

// to sends a request of a call to any of the instances, or to all of them.
func (p *play) to(c *sceneCall, send func(at *fleet.Client)) {
	p.mu.Lock()
	all := slices.Clone(p.instances)
	p.mu.Unlock()
	if p.Process == nil {
		all = all[mathrand.IntN(len(all)):][:1]
	}
	fault.Check(storm.Parallel(len(all), len(all), func(i int) { send(&fleet.Client{Conn: all[i], Tool: c.tool}) }))
}

// serve begins a call and answers its question. A client gives up after a while, and comes
// back when the storm is over. A third of them have a question by then, and answer it later.
func (p *play) serve(ctx context.Context, c *sceneCall, within time.Duration) {
	waits, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for waits.Err() == nil && !c.asked {
		attempt, cancel := context.WithTimeout(waits, within/2)
		p.to(c, func(at *fleet.Client) {
			if request, err := at.Begin(attempt, c.order); err == nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.request, c.asked = request, true
			}
		})
		cancel()
	}
	if c.asked && mathrand.IntN(3) > 0 {
		p.send(waits, c, within/2)
	}
}

// settle sends the last request of a call until it is answered for good.
func (p *play) settle(ctx context.Context, c *sceneCall) {
	if !c.asked {
		return
	}
	waits, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if !p.send(waits, c, sceneRound) {
		c.answers = append(c.answers, fleet.Answer{Class: stuck})
	}
}

func (p *play) send(ctx context.Context, c *sceneCall, each time.Duration) (answered bool) {
	for ctx.Err() == nil && !answered {
		p.to(c, func(at *fleet.Client) {
			if a, err := at.SendWithin(ctx, c.request, each); err == nil && a.Class != "retryable" {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.answers, answered = append(c.answers, a), true
			}
		})
		if !answered {
			_ = fleet.Pause(ctx, 50*time.Millisecond)
		}
	}
	return answered
}

// judge compares all answers with the ledger.
func (p *play) judge() {
	p.ends = map[string]int{}
	payments := map[string][]fleet.Receipt{}
	for _, r := range paid(p.t, p.all) {
		payments[r.Order] = append(payments[r.Order], r)
	}
	held, err := fleet.Holds(p.all.Ledger)
	require.NoError(p.t, err)
	for _, c := range p.calls {
		paid, end := payments[c.order], unasked
		if len(paid) > 1 || held[c.order] > 1 {
			p.twice++
			p.t.Logf("%s %s was paid twice: %v, and told %v", c.tool, c.order, paid, c.answers)
		}
		for _, a := range c.answers {
			end = a.Class
			isTrue := len(paid) > 0 && a.Receipt == paid[0]
			if end == "applied" { // the store had no room for the result, and its client is told that it was paid
				end, isTrue = "ok", len(paid) > 0
			}
			if (end == "ok") != isTrue && (end == "ok" || end == "gone" || end == "error") {
				p.denied++
				p.t.Logf("%s %s was told %v, and paid %v", c.tool, c.order, a, paid)
			}
		}
		p.ends[end]++
	}
}

// sums are the cells of a line.
func (p *play) sums() string {
	var cells []string
	for _, end := range []string{"ok", "unknown", "refused", unasked} {
		cells = append(cells, fmt.Sprint(p.ends[end]))
	}
	return fmt.Sprintf("%d | %s | %d | %d", len(p.calls), strings.Join(cells, " | "), p.twice, p.denied)
}

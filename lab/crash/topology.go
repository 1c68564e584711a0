//go:build unix

package crash

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"os"
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
	// Lasts is how long each effect takes. Both instances get each request at once then, and an order
	// is the key of its call.
	Lasts time.Duration
}

// Scene is what an event happens to. Its functions report faults to the test.
type Scene struct {
	// Open opens the store as an instance does that starts now. The instances are numbered, for
	// those that reach different servers.
	Open func(instance int) store.Store
	// Before, if set, is called at a quarter of the calls, and At at half of them.
	Before, At func()
	// Restarts says that the instances end before At, and others start after it.
	Restarts bool
	// Process, if set, starts an instance that is a process of its own to do a job.
	Process func(instance int, job fleet.Job) *fleet.Server
}

// wrongClock is two processes, of which the first has a clock that is moved by two minutes and by two
// hours, ahead and back, for longer each than an effect lasts, and an effect for longer than a lease.
func wrongClock(t *testing.T, b *Backend) Scene {
	program, move := fleet.WrongClock(t)
	address := b.Addresses(t)()
	return Scene{
		Process: func(instance int, job fleet.Job) *fleet.Server {
			job.Backend, job.Address = b.Name, address
			if instance == 0 {
				job.Program = program
			}
			return fleet.StartServer(t.Context(), job)
		},
		At: func() {
			for _, ahead := range []time.Duration{2 * time.Minute, -2 * time.Minute, 2 * time.Hour, -2 * time.Hour, 0} {
				move(ahead)
				require.NoError(t, fleet.Pause(t.Context(), sceneLasts+time.Second))
			}
		},
	}
}

// sceneLasts is longer than a lease.
const sceneLasts = 3 * time.Second

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
func (e *Event) sceneTools() []string {
	if e.Lasts > 0 {
		return []string{"journal", "journal + Check", "native", "once", "resumable", "steps"}
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
			p := &play{
				Scene: e.Set(t), t: t, tools: e.sceneTools(), all: fleet.NewInstances(t), key: fleet.NewKey(), lasts: e.Lasts,
				calls: make([]*sceneCall, storm.Nightly(240, 60)),
			}
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
	key   string // of processes
	lasts time.Duration
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
	answers []fleet.Answer // to the second round, each as it came; guarded by mu
}

func (c *sceneCall) told(a fleet.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, a)
}

const (
	// stuck is the end of a call that gets no answer, and unasked that of one which never got
	// its question.
	stuck   = "stuck"
	unasked = "unasked"
)

func (p *play) start(instance int) {
	tools := map[string]fleet.Row{}
	for _, name := range p.tools {
		tools[name] = fleet.Find(name)
	}
	var conn *wire.Client
	if p.Process != nil {
		server := p.Process(instance, fleet.Job{Ledger: p.all.Ledger, Key: p.key, Rows: p.tools, Lease: sceneRemember.Lease, Holds: true, HoldLasts: p.lasts, Keyed: true})
		p.t.Cleanup(server.End)
		conn = server.Conn
	} else {
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
	require.NoError(p.t, storm.Parallel(len(calls), sceneWorkers, func(i int) {
		if calls[i] == nil {
			calls[i] = &sceneCall{tool: p.tools[mathrand.IntN(len(p.tools))], order: fmt.Sprintf("%s/ok/%v", rand.Text(), p.lasts)}
		}
		play(calls[i])
	}))
}

// at is a client at any of the instances.
func (p *play) at(c *sceneCall) *fleet.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &fleet.Client{Conn: p.instances[mathrand.IntN(len(p.instances))], Tool: c.tool}
}

// serve begins a call and answers its question. A client gives up after a while, and comes
// back when the storm is over. A third of them have a question by then, and answer it later.
func (p *play) serve(ctx context.Context, c *sceneCall, within time.Duration) {
	waits, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for waits.Err() == nil && !c.asked {
		var err error
		attempt, cancel := context.WithTimeout(waits, within/2)
		c.request, err = p.begin(attempt, c)
		cancel()
		c.asked = err == nil
	}
	if c.asked && mathrand.IntN(3) > 0 {
		p.sendAtOnce(waits, c, within/2)
	}
}

// begin begins a call, at both instances where an effect lasts.
func (p *play) begin(ctx context.Context, c *sceneCall) (request wire.Request, err error) {
	if p.lasts == 0 {
		return p.at(c).Begin(ctx, c.order)
	}
	var mu sync.Mutex
	err = fleet.ErrRetryable
	p.atBoth(c, func(at *fleet.Client) {
		asked, failed := at.Begin(ctx, c.order)
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			request, err = asked, nil
		}
	})
	return request, err
}

// sendAtOnce sends a request, to both instances where an effect lasts.
func (p *play) sendAtOnce(ctx context.Context, c *sceneCall, each time.Duration) {
	if p.lasts == 0 {
		p.send(ctx, nil, c, each)
		return
	}
	p.atBoth(c, func(at *fleet.Client) { p.send(ctx, at, c, each) })
}

func (p *play) atBoth(c *sceneCall, do func(at *fleet.Client)) {
	p.mu.Lock()
	instances := p.instances
	p.mu.Unlock()
	fault.Check(storm.Parallel(len(instances), len(instances), func(i int) {
		do(&fleet.Client{Conn: instances[i], Tool: c.tool})
	}))
}

// settle sends the last request of a call until it is answered for good.
func (p *play) settle(ctx context.Context, c *sceneCall) {
	if !c.asked {
		return
	}
	waits, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if !p.send(waits, nil, c, sceneRound) {
		c.told(fleet.Answer{Class: stuck})
	}
}

// send sends a request until it is answered, to one client or to any.
func (p *play) send(ctx context.Context, to *fleet.Client, c *sceneCall, each time.Duration) (answered bool) {
	for ctx.Err() == nil {
		at := to
		if at == nil {
			at = p.at(c)
		}
		a, err := at.SendWithin(ctx, c.request, each)
		if err == nil && a.Class != "retryable" {
			c.told(a)
			return true
		}
		_ = fleet.Pause(ctx, 50*time.Millisecond)
	}
	return false
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
	for order, times := range held {
		if times > 1 {
			p.twice++
			p.t.Logf("%s was held %d times", order, times)
		}
	}
	for _, c := range p.calls {
		paid, end := payments[c.order], unasked
		if len(paid) > 1 {
			p.twice++
			p.t.Logf("%s %s was paid twice: %v, and told %v", c.tool, c.order, paid, c.answers)
		}
		for _, a := range c.answers {
			end = a.Class
			if (a.Class == "ok") != (len(paid) > 0 && a.Receipt == paid[0]) && (a.Class == "ok" || a.Class == "gone" || a.Class == "error") {
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

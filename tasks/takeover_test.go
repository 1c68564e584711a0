package tasks_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// mortal is the store of one of several processes. When the process dies, nothing of it is
// written any more.
type mortal struct {
	machine
	dead atomic.Bool
}

// live fails at once: whoever waited here would hold a lock that synctest does not see
// through.
func (s *mortal) live() error {
	if s.dead.Load() {
		return errDead
	}
	return nil
}

// errDead is a verdict, so that a runtime that is closed does not go on to write.
var errDead = fmt.Errorf("the process is dead: %w", store.ErrForgotten)

func (s *mortal) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := s.live(); err != nil {
		return 0, err
	}
	return s.machine.Create(ctx, key, value, ttl)
}

func (s *mortal) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := s.live(); err != nil {
		return 0, err
	}
	return s.machine.Update(ctx, key, at, value, ttl)
}

func (s *mortal) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	if err := s.live(); err != nil {
		return 0, err
	}
	return s.machine.Schedule(ctx, key, at, value, ttl, due)
}

// pair are two instances on one store, of which the first can die.
type pair struct {
	first, second client
	store, other  *mortal // of the first, and of the second
	leaving       *site
	survivor      *site
	did           *ledger
}

func newPair(t *testing.T, style string) *pair {
	records := store.NewMemory(nil)
	p := &pair{store: &mortal{machine: machine{records}}, other: &mortal{machine: machine{records}}, did: &ledger{}}
	keys := []statecodec.Key{statecodec.GenerateKey()}
	s := setting{style: style, policy: atOnce, did: p.did, keys: keys, records: p.store}
	p.leaving = newSite(t, s)
	p.first = connect(t, p.leaving.server)
	s.records = p.other
	p.survivor = newSite(t, s)
	p.second = connect(t, p.survivor.server)
	return p
}

// stop ends the first instance as a server does on SIGTERM.
func (p *pair) stop(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	_ = p.leaving.manager.Drain(ctx)
	_ = p.leaving.rt.Drain(ctx)
}

// poll polls a second instance as often as a client would, until the task waits or has ended.
func (p *pair) poll(t *testing.T, id string) seen {
	for range 240 {
		s := p.second.get(id)
		if s.Status != "working" {
			return s
		}
		time.Sleep(time.Second)
	}
	require.Fail(t, "the task does not go on")
	return seen{}
}

// finish answers everything at the second instance.
func (p *pair) finish(t *testing.T, id string) seen {
	s := p.poll(t, id)
	for s.Status == "input_required" {
		p.second.answer(s)
		s = p.poll(t, id)
	}
	return s
}

// An instance dies, and the next poll at another one goes on with its task: where it waited,
// in every style but a coroutine, and where it was at work, in those that can run again. Any
// other says that nobody knows, and none has an effect twice.
func TestATaskOutlivesItsInstance(t *testing.T) {
	const goesOn, gone, unknown = "to Lisbon: window, fish", "frame is gone", "was cut off"
	ends := map[string]map[moment]string{
		"native":    {asksFirst: goesOn, asksSecond: goesOn, atWork: unknown},
		"once":      {asksFirst: goesOn, asksSecond: goesOn, atWork: goesOn},
		"steps":     {asksFirst: goesOn, asksSecond: goesOn, atWork: goesOn},
		"coroutine": {asksFirst: gone, asksSecond: gone, atWork: unknown},
		"journal":   {asksFirst: goesOn, asksSecond: goesOn, atWork: goesOn},
		"resumable": {asksFirst: goesOn, asksSecond: goesOn, atWork: goesOn},
		"given":     {asksFirst: goesOn, atWork: goesOn},
	}
	cells := 0
	for _, style := range styleNames {
		require.NotEmpty(t, ends[style])
		for m, want := range ends[style] {
			cells++
			t.Run(fmt.Sprintf("%s/%s", style, m), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPair(t, style)
					id, release := stands(t, p.first, p.did, m)
					time.Sleep(time.Second) // the end of an effect is noted soon, and not at once
					p.store.dead.Store(true)
					p.did.at = nil
					end := p.finish(t, id)
					require.Equal(t, "completed", end.Status)
					require.Contains(t, string(end.Result), want)
					if want == goesOn {
						require.Equal(t, "hold ticket", p.did.all())
					}
					release()
					time.Sleep(time.Minute)
					require.Equal(t, end, p.second.get(id))
					require.LessOrEqual(t, len(p.did.all()), len("hold ticket unhold"))
				})
			})
		}
	}
	require.Equal(t, 20, cells)
	t.Logf("%d cells", cells)
}

// An instance ends, or loses its store, in the midst of an effect: of the first round or a later one, in
// every style and in a plain tool. The effect happens once, and the task says what stands.
func TestATaskIsCutOffInItsEffect(t *testing.T) {
	for how, c := range map[string]struct {
		cut  func(p *pair, goOn func())
		kept bool // the round comes to its end
	}{
		"SIGKILL": {cut: func(p *pair, _ func()) { p.store.dead.Store(true) }},
		"SIGTERM, and the effect ends in time": {kept: true, cut: func(p *pair, goOn func()) {
			time.AfterFunc(10*time.Second, goOn)
			p.stop(25 * time.Second)
		}},
		"SIGTERM, and it does not": {cut: func(p *pair, _ func()) { p.stop(5 * time.Second) }},
		"the store is away": {cut: func(p *pair, _ func()) {
			p.store.dead.Store(true)
			time.AfterFunc(3*time.Minute, func() { p.store.dead.Store(false) })
		}},
	} {
		for _, style := range append(styleNames, "plain") {
			for _, when := range []string{"", late} {
				t.Run(fmt.Sprintf("%s/%s%s", how, style, when), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						p := newPair(t, style+when)
						begun, goOn := make(chan struct{}), make(chan struct{})
						release := sync.OnceFunc(func() { close(goOn) })
						var once atomic.Bool
						p.did.in = func(ctx context.Context) {
							if once.Swap(true) {
								return
							}
							close(begun)
							select {
							case <-goOn:
							case <-ctx.Done():
							}
						}
						id := p.first.call().TaskID
						if s := p.first.get(id); when == late || style == "given" {
							for s.Status == "working" {
								time.Sleep(time.Millisecond)
								s = p.first.get(id)
							}
							p.first.answer(s)
						}
						<-begun
						c.cut(p, release)
						end := p.finish(t, id)
						release()
						time.Sleep(10 * time.Minute)
						did := p.did.all()
						require.Equal(t, 1, strings.Count(" "+did, " hold"), did)
						require.LessOrEqual(t, strings.Count(" "+did, " ticket"), 1, did)
						text := string(end.raw)
						switch undone := strings.Contains(did, "unhold"); {
						case strings.Contains(text, "window, fish"):
							require.Equal(t, "hold ticket", did)
						case c.kept && style != "coroutine":
							require.Fail(t, "the round had the time to end", text)
						default:
							require.Regexp(t, "unknown|nobody knows|cut off", text)
							require.True(t, !strings.Contains(text, "was undone") || undone, text)
						}
						require.Equal(t, end.Status, p.second.get(id).Status)
					})
				})
			}
		}
	}
}

// Every request of a task may reach another instance. A coroutine that waits is out of its
// reach: its task ends, and its effects are undone.
func TestATaskIsServedByEveryInstance(t *testing.T) {
	cells := 0
	for _, style := range styleNames {
		for _, cancels := range []moment{"", asksFirst, asksSecond, atWork} {
			if style == "given" && cancels == asksSecond {
				continue
			}
			cells++
			t.Run(fmt.Sprintf("%s/cancelled: %s", style, cancels), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPair(t, style)
					outOfReach := style == "coroutine" && cancels != atWork
					if cancels == "" {
						end := p.finish(t, p.first.call().TaskID)
						require.Equal(t, "completed", end.Status)
						if outOfReach {
							require.Contains(t, string(end.Result), "frame is gone")
							require.Equal(t, "hold unhold", p.did.all())
							return
						}
						require.Equal(t, "hold ticket", p.did.all())
						return
					}
					id, _ := stands(t, p.first, p.did, cancels)
					p.second.cancel(id)
					end := p.poll(t, id)
					require.Equal(t, "cancelled", end.Status)
					require.Contains(t, end.StatusMessage, "the task was cancelled")
					require.Equal(t, end, p.first.get(id))
					time.Sleep(20 * time.Minute) // longer than FrameTTL: nothing is undone twice
					require.Equal(t, undoneAfter(style, cancels), p.did.all())
				})
			})
		}
	}
	require.Equal(t, 27, cells)
	t.Logf("%d cells", cells)
}

// A cancellation that reaches another instance is heard where the handler works, long before
// the next sign of life is due, and before and after one was given.
func TestACancellationElsewhereIsHeardSoon(t *testing.T) {
	for _, works := range []time.Duration{0, 2 * time.Second, 45 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, "journal")
			id, _ := stands(t, p.first, p.did, atWork)
			time.Sleep(works)
			p.second.cancel(id)
			time.Sleep(1500 * time.Millisecond)
			require.Equal(t, "cancelled", p.second.get(id).Status, "after %s", works)
		})
	}
}

// An instance that closes leaves its tasks to the next poll elsewhere, which need not wait
// for a lease.
func TestAnInstanceThatClosesLetsGoOfItsTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records := store.NewMemory(nil)
		did := &ledger{}
		s := setting{style: "journal", policy: atOnce, did: did, records: machine{records}, keys: []statecodec.Key{statecodec.GenerateKey()}}
		first, second := newSite(t, s), newSite(t, s)
		c := connect(t, first.server)
		id, _ := stands(t, c, did, atWork)
		require.NoError(t, first.manager.Close())
		require.Equal(t, "input_required", c.call().ResultType, "a call is served without a task")
		require.NoError(t, first.rt.Close())
		did.at = nil
		began := time.Now()
		other := connect(t, second.server)
		end := other.finish(id)
		require.Equal(t, "completed", end.Status)
		require.Less(t, time.Since(began), 5*time.Second)
		require.Equal(t, "hold hold ticket", did.all(), "of both calls")
	})
}

// A cancellation and the last answers race, many times. The task ends, and its effects are
// those of a call that completed, or are undone.
func TestACancellationRacesWithAnswers(t *testing.T) {
	ends := map[string]int{}
	for _, style := range styleNames {
		for range 10 {
			did := &ledger{}
			c := connect(t, newSite(t, setting{style: style, policy: atOnce, did: did, records: store.NewMemory(nil)}).server)
			s := c.settle(c.call().TaskID)
			raced := make(chan struct{})
			go func() {
				defer close(raced)
				_, _ = c.send("tasks/cancel", map[string]any{"taskId": s.TaskID})
			}()
			c.answer(s)
			<-raced
			end := c.finish(s.TaskID)
			ends[end.Status]++
			if end.Status == "completed" {
				require.Equal(t, "hold ticket", did.all())
				continue
			}
			require.Equal(t, "cancelled", end.Status, string(end.raw))
			require.Contains(t, cancelledInTheMiddle, did.all(), "%s: %s", style, string(end.raw))
		}
	}
	require.NotZero(t, ends["cancelled"])
	t.Logf("%d races: %v", len(styleNames)*10, ends)
}

// One request is enough for a task whose instance is dead. A cancellation is carried out
// whenever it comes, and undoes the effects of a round that was cut off too. A poll or an answer
// goes on at once if the silence has been long. An instance that lives keeps its task.
func TestOneRequestIsEnough(t *testing.T) {
	requests := map[string]func(c client, id string){
		"poll":         func(c client, id string) { c.get(id) },
		"answer":       func(c client, id string) { c.update(id, map[string]any{"seat-1": accept("seat", "aisle")}) },
		"cancellation": func(c client, id string) { c.cancel(id) },
	}
	const lives, justDied, longDead = "lives", "has just died", "has been dead for long"
	cells := 0
	for _, style := range styleNames {
		for _, when := range []string{"", late} {
			for name, send := range requests {
				for _, holder := range []string{lives, justDied, longDead} {
					cells++
					t.Run(fmt.Sprintf("%s%s/%s/the holder %s", style, when, name, holder), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							p := newPair(t, style+when)
							id, release := stands(t, p.first, p.did, atWork)
							time.Sleep(time.Second)
							var entered atomic.Bool
							p.did.at = func(context.Context) { entered.Store(true) }
							if p.store.dead.Store(holder != lives); holder != justDied {
								time.Sleep(2 * time.Minute)
							}
							send(p.second, id)
							time.Sleep(time.Minute)
							did := p.did.all()
							goesOn := style != "native" && style != "coroutine"
							switch {
							case name == "cancellation" && (goesOn || holder == lives):
								require.Equal(t, "hold unhold", did)
								require.Equal(t, "cancelled", p.second.get(id).Status)
							case name == "cancellation":
								require.Equal(t, "hold unhold", did)
								require.Contains(t, p.second.get(id).StatusMessage, `"hold" was undone. What else it has done is unknown`)
							default:
								require.Equal(t, goesOn && holder != lives, entered.Load())
								require.NotContains(t, did, "hold hold")
							}
							release()
						})
					})
				}
			}
		}
	}
	require.Equal(t, 126, cells)
}

// So it is if the store takes no writes for a while when the task is to be taken over.
func TestACancellationOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, "journal")
		id, release := stands(t, p.first, p.did, atWork)
		defer release()
		p.store.dead.Store(true)
		p.second.cancel(id)
		p.other.dead.Store(true)
		time.Sleep(time.Minute)
		require.Equal(t, "hold", p.did.all())
		p.other.dead.Store(false)
		time.Sleep(time.Minute)
		require.Equal(t, "hold unhold", p.did.all())
		require.Equal(t, "cancelled", p.second.get(id).Status)
	})
}

// unwritable is a store of this process that takes no write of a task's record while it is on.
type unwritable struct {
	store.Store
	on atomic.Bool
}

func (u *unwritable) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if u.on.Load() && strings.HasPrefix(key.Name, "task.") {
		return 0, store.ErrFull
	}
	return u.Store.Update(ctx, key, at, value, ttl)
}

// A task whose run could not write its last record ends when it is polled, also in a store of one process.
func TestATaskWithoutARunEnds(t *testing.T) {
	for style, status := range map[string]string{"plain": "failed", "native": "input_required"} {
		synctest.Test(t, func(t *testing.T) {
			records := &unwritable{Store: store.NewMemory(nil)}
			c := connect(t, newSite(t, setting{style: style, policy: atOnce, records: records}).server)
			records.on.Store(true)
			id := c.call().TaskID
			time.Sleep(time.Minute)
			records.on.Store(false)
			require.Equal(t, "working", c.get(id).Status, style)
			time.Sleep(2 * time.Minute)
			require.Equal(t, status, c.get(id).Status, style)
		})
	}
}

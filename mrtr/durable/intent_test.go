package durable_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/options/replay"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// alike are instances on one store.
func alike(instances int) (stores []store.Store) {
	records := kit.Shared{Memory: store.NewMemory(nil)}
	for range instances {
		stores = append(stores, records)
	}
	return stores
}

func TestAReplay(t *testing.T) { holds(t, replay.Contracts) }

// holds plays contracts in every style, at one instance and at two.
func holds(t *testing.T, contracts map[string]replay.Contract) {
	require.NotEmpty(t, contracts)
	for name, c := range contracts {
		for _, style := range replay.Styles {
			for _, instances := range []int{1, 2} {
				if c.Holds(style, instances) {
					kit.InBubble(t, fmt.Sprintf("%s/%s/%d", name, style, instances), func(t *testing.T) { c.Hold(t, style, alike(instances), replay.Slow) })
				}
			}
		}
	}
}

// Users who begin, answer, leave, play their call again and lose answers, in any order, with equal
// requests: each call that somebody finished is charged once, and has a receipt of its own. At night
// they finish 40,000.
func TestEqualCallsAreNotMerged(t *testing.T) {
	steps := 150
	if os.Getenv("MRTR_NIGHTLY") == "1" {
		steps = 13_000
	}
	for _, style := range []string{"native", "journal", "steps"} {
		for seed := range uint64(4) {
			kit.InBubble(t, fmt.Sprintf("%s, seed %d", style, seed), func(t *testing.T) {
				inn := replay.New(t, style, alike(2), nil)
				random := rand.New(rand.NewPCG(seed, 1))
				type window struct {
					*replay.Guest
					at    replay.Reply
					room  string
					given []string
				}
				one := func(of ...string) string { return of[random.IntN(len(of))] }
				var open []*window
				receipts := map[string]bool{}
				for range steps {
					if len(open) < 6 && random.IntN(3) == 0 || len(open) == 0 {
						w := &window{Guest: &replay.Guest{Inn: inn, Who: one("ann", "bob", "eve"), Dates: one("", "May"), At: random.IntN(2)}, room: one("double", "single")}
						w.at = w.Begin()
						require.Equal(t, []string{"room"}, w.at.Asks, "%v", w.at.Err)
						open = append(open, w)
						continue
					}
					i := random.IntN(len(open))
					w := open[i]
					switch random.IntN(8) {
					case 0: // the user leaves
						open = slices.Delete(open, i, i+1)
						continue
					case 1: // or their client begins again
						again := w.Plays(w.given...)
						require.Equal(t, w.at.Asks, again.Asks, "%v", again.Err)
						w.at = again
					}
					w.given = append(w.given, w.room)
					next := w.Answer(w.at, w.room)
					if random.IntN(4) == 0 { // the answer is lost
						again := w.Answer(w.at, w.room)
						require.Equal(t, next.Receipt, again.Receipt)
						require.Equal(t, next.Asks, again.Asks)
						next = again
					}
					if w.at = next; next.Asks == nil {
						receipt := w.Books(next)
						require.False(t, receipts[receipt], "somebody else's booking")
						receipts[receipt] = true
						open = slices.Delete(open, i, i+1)
					}
				}
				require.Greater(t, len(receipts), steps/10)
				require.Len(t, receipts, inn.Charges())
				t.Logf("%d finished, %s drafts, holds and charges", len(receipts), inn.Did())
			})
		}
	}
}

// Equal calls at once, of which every one is finished.
func TestEqualCallsAtOnce(t *testing.T) {
	for _, style := range []string{"native", "journal", "steps"} {
		t.Run(style, func(t *testing.T) {
			inn := replay.New(t, style, alike(2), nil)
			const users, calls = 8, 10
			var mu sync.Mutex
			receipts := map[string]bool{}
			var all sync.WaitGroup
			for i := range users {
				all.Go(func() {
					g := &replay.Guest{Inn: inn, Who: "ann", At: i}
					for range calls {
						last := g.Begin()
						for last.Asks != nil {
							last = g.Answer(last, "yes")
						}
						receipt := g.Books(last)
						mu.Lock()
						receipts[receipt] = true
						mu.Unlock()
					}
				})
			}
			all.Wait()
			require.Len(t, receipts, users*calls)
			require.Equal(t, users*calls, inn.Charges())
		})
	}
}

// A call that neither asks nor acts touches no store, and one that only asks writes once.
func TestWhatAFirstRoundCosts(t *testing.T) {
	for _, c := range []struct {
		name string
		body func(s *kit.Stage)
		want []string
	}{
		{"neither asks nor acts", func(s *kit.Stage) {}, nil},
		{"only asks", func(s *kit.Stage) { kit.Ask(s, kit.Text("q")) }, []string{"create"}},
		{"only acts", func(s *kit.Stage) {
			kit.Once(s, "pay", func(context.Context, string) (string, error) { return "", nil })
		}, []string{"create", "update"}},
	} {
		for style := range kit.EveryStyle(func(*kit.Stage, kit.In) (kit.Out, error) { return kit.Out{}, nil }) {
			t.Run(c.name+", "+style, func(t *testing.T) {
				records := newHookedStore()
				records.scope = store.Machine
				var asked []string
				records.on(func(op operation) error {
					if op.name != "epoch" {
						asked = append(asked, op.name)
					}
					return op.Err()
				})
				tool := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(records, nil)}), kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					c.body(s)
					return kit.Out{Plan: "done"}, nil
				})[style], "")
				require.NoError(t, tool.Begin().Err)
				require.Equal(t, c.want, asked)
			})
		}
	}
}

// A record that nobody can read, such as one of another release, is no outage: the call that had it
// is over, and with a key its end is not known.
func TestAnUnreadableFirstTurn(t *testing.T) {
	for _, key := range []string{"", "1"} {
		records := newHookedStore()
		records.scope = store.Machine
		var first store.Key
		records.on(func(op operation) error {
			if op.name == "create" && first.Name == "" {
				first = op.key
			}
			return op.Err()
		})
		inn := replay.New(t, "native", []store.Store{records}, nil)
		g := &replay.Guest{Inn: inn, Key: key}
		require.Equal(t, []string{"room"}, g.Begin().Asks)
		_, at, err := records.Get(t.Context(), first)
		require.NoError(t, err)
		_, err = records.Update(t.Context(), first, at, []byte("?"), time.Hour)
		require.NoError(t, err)
		again := g.Begin()
		if key != "" {
			kit.Ended(t, again.Err, mrtr.ResultNotKept)
			continue
		}
		g.Books(g.Answer(g.Answer(again, "double"), "yes"))
		require.Equal(t, "2/1/1", inn.Did())
	}
}

// A client that cannot be asked is not asked what another one was.
func TestAClientThatCannotBeAskedJoinsNoCall(t *testing.T) {
	for style := range bookings(nil, nil) {
		kit.InBubble(t, style, func(t *testing.T) {
			d := &desk{t: t, records: kit.Shared{Memory: store.NewMemory(nil)}, style: style}
			tool := d.opens()
			asked := tool.Begin()
			mute := *tool
			mute.Mute = true
			kit.Code(t, mute.Begin().Err, -32021)
			require.Equal(t, 1, d.did.Count("reserve"))
			d.books(tool, asked)
		})
	}
}

// Questions whose record the store does not take are asked all the same: nobody else is asked them.
func TestQuestionsThatAreTooLargeToBeKept(t *testing.T) {
	for style := range kit.EveryStyle(func(*kit.Stage, kit.In) (kit.Out, error) { return kit.Out{}, nil }) {
		t.Run(style, func(t *testing.T) {
			records := newHookedStore()
			records.scope = store.Machine
			first := true
			records.on(func(op operation) error {
				if op.name == "create" && first {
					first = false
					return store.ErrTooLarge
				}
				return op.Err()
			})
			tool := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(records, nil)}), kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				return kit.Out{Plan: kit.Ask(s, kit.Text("seat"))}, nil
			})[style], "")
			require.Equal(t, kit.Reply{Plan: "window"}, tool.Answer(tool.Begin(), "window"))
		})
	}
}

// Without a store, and turned off, a state has nothing of all this, and neither has the store: both
// are byte for byte as if there were no such thing.
func TestNothingIsWrittenWhereCallsAreNotOne(t *testing.T) {
	const content = `{"v":4,"call":"<id>","round":1,"asked":1,"from":"1","style":"<style>",` +
		`"done":[{"key":"hold","kind":"effect","value":"held"}],"pending":[{"key":"seat","text":"seat?","form":<form>}]`
	for name, c := range map[string]struct {
		records *hookedStore
		end     string
	}{
		"no store":   {nil, "}"},
		"turned off": {newHookedStore(), `,"mark":"<mark>","until":<until>}`},
	} {
		for style := range kit.EveryStyle(func(*kit.Stage, kit.In) (kit.Out, error) { return kit.Out{}, nil }) {
			t.Run(name+", "+style, func(t *testing.T) {
				o := &mrtr.Options{Same: mrtr.SameNone, State: &statecodec.Options{Keys: []statecodec.Key{kit.SharedKey}}}
				var asked []string
				if c.records != nil {
					c.records.scope = store.Machine
					c.records.on(func(op operation) error {
						if op.name != "epoch" {
							asked = append(asked, op.name)
						}
						return op.Err()
					})
					o.Durable = durable.In(c.records, nil)
				}
				rt := kit.TripRuntime(t, o)
				tool := kit.NewTrip(rt, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Once(s, "hold", func(context.Context, string) (string, error) { return "held", nil })
					return kit.Out{Plan: kit.Ask(s, kit.Text("seat").Default("any"))}, nil
				})[style], "1")
				reply := tool.Begin()
				require.Empty(t, asked)
				state, err := rt.Inspect(reply.State, statecodec.Binding{Target: "trip", Arguments: []byte(`{"who":""}`)})
				require.NoError(t, err)
				text := string(state)
				for _, part := range [][2]string{
					{`"call":"[0-9a-f]{32}"`, `"call":"<id>"`}, {`"style":"[^"]*"`, `"style":"<style>"`}, {`"frame":"[^"]*",`, ""},
					{`"form":\{.*\}\}\]`, `"form":<form>}]`}, {`"mark":"[^"]*"`, `"mark":"<mark>"`}, {`"until":[0-9]+`, `"until":<until>`},
				} {
					text = regexp.MustCompile(part[0]).ReplaceAllString(text, part[1])
				}
				require.Equal(t, content+c.end, text)
			})
		}
	}
}

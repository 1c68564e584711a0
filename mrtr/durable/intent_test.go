package durable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// An inn drafts a booking, asks for the room, holds it, asks whether that is right, and charges.
type inn struct {
	t     testing.TB
	tools []*kit.Trip // one for each instance
	seen  kit.Recorder

	mu   sync.Mutex
	done map[string][]string // the idempotency keys of each effect
}

func newInn(t testing.TB, style string, instances int, change func(*mrtr.Options)) *inn {
	b := &inn{t: t, done: map[string][]string{}}
	records := kit.Shared{Memory: store.NewMemory(nil)}
	for range instances {
		o := &mrtr.Options{
			Durable: durable.In(records, nil), Listener: observe.With(&b.seen),
			Principal: func(ctx context.Context, _ mcp.Request) (string, error) {
				who, _ := ctx.Value(whoKey{}).(string)
				return who, nil
			},
		}
		if change != nil {
			change(o)
		}
		b.tools = append(b.tools, kit.NewTrip(kit.TripRuntime(t, o), b.style(style), ""))
	}
	return b
}

func (b *inn) does(effect string) func(context.Context, string) (string, error) {
	return func(_ context.Context, idem string) (string, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.done[effect] = append(b.done[effect], idem)
		return idem, nil
	}
}

func (b *inn) style(name string) kit.Style {
	if name == "steps" {
		var list kit.Steps
		do := func(key string) steps.Step[string] {
			return steps.Do(&list, key, func(ctx context.Context, _ *kit.At, idem string) (string, error) { return b.does(key)(ctx, idem) })
		}
		do("draft")
		steps.Always(&list, kit.Text("room"))
		do("hold")
		steps.Always(&list, kit.Text("sure"))
		charge := do("charge")
		list.End(func(_ context.Context, at *kit.At) (kit.Out, error) { return kit.Out{Plan: charge.Of(at)}, nil })
		return kit.Build(b.t, &list)
	}
	return kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Once(s, "draft", b.does("draft"))
		kit.Ask(s, kit.Text("room"))
		kit.Once(s, "hold", b.does("hold"))
		kit.Ask(s, kit.Text("sure"))
		return kit.Out{Plan: kit.Once(s, "charge", b.does("charge"))}, nil
	})[name]
}

var innStyles = []string{"native", "journal", "resumable", "coroutine", "steps"}

// did is how often each effect happened: "drafts/holds/charges".
func (b *inn) did() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for effect, idems := range b.done {
		require.Len(b.t, slices.Compact(slices.Sorted(slices.Values(idems))), len(idems), "%s ran twice under one key", effect)
	}
	return fmt.Sprintf("%d/%d/%d", len(b.done["draft"]), len(b.done["hold"]), len(b.done["charge"]))
}

// guest is a client. Every request of its goes to the next instance.
type guest struct {
	*inn
	who, key string
	http     bool // over HTTP, where nobody is known without a principal
	sent     int
	dates    string // the arguments
}

func (g *guest) send(state string, answers mcp.InputResponseMap) kit.Reply {
	meta := kit.ModernMeta()
	if g.key != "" {
		meta["idempotencyKey"] = g.key
	}
	arguments, _ := json.Marshal(kit.In{Who: g.dates})
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "trip", Arguments: arguments, RequestState: state, InputResponses: answers}}
	if g.http {
		req.Extra = &mcp.RequestExtra{Header: http.Header{}}
	}
	tool := g.tools[g.sent%len(g.tools)]
	g.sent++
	res, out, err := tool.Handler(as(context.Background(), g.who), req, kit.In{Who: g.dates})
	if err != nil || res == nil || res.InputRequests == nil {
		return kit.Reply{Plan: out.Plan, Err: err}
	}
	return kit.Reply{Asks: slices.Sorted(maps.Keys(res.InputRequests)), State: res.RequestState}
}

func (g *guest) begin() kit.Reply { return g.send("", nil) }

func (g *guest) answer(asked kit.Reply, value string) kit.Reply {
	require.Len(g.t, asked.Asks, 1, "%v", asked.Err)
	return g.send(asked.State, kit.Accepting(asked, value))
}

// plays plays the call from its first request.
func (g *guest) plays(answers ...string) kit.Reply {
	last := g.begin()
	for _, value := range answers {
		last = g.answer(last, value)
	}
	return last
}

// resumes plays the whole call again for each answer, as an agent does that resumes from its top.
func (g *guest) resumes(answers ...string) (last kit.Reply) {
	for n := range len(answers) + 1 {
		last = g.plays(answers[:n]...)
	}
	return last
}

// books requires that the call has ended with a receipt, and returns that.
func (g *guest) books(r kit.Reply) string {
	require.NoError(g.t, r.Err)
	require.NotEmpty(g.t, r.Plan, "%v", r.Asks)
	return r.Plan
}

var yes = []string{"double", "yes"}

// What a replay comes to, in every style and over one or two instances: how often each effect
// happened in the end.
func TestAReplay(t *testing.T) {
	ann := func(b *inn) *guest { return &guest{inn: b, who: "ann"} }
	for name, c := range map[string]struct {
		options func(*mrtr.Options)
		play    func(b *inn)
		did     string
	}{
		"honest": {nil, func(b *inn) { ann(b).books(ann(b).plays(yes...)) }, "1/1/1"},
		"resumed from its top": {nil, func(b *inn) {
			g := ann(b)
			g.books(g.resumes(yes...))
		}, "1/1/1"},
		"resumed, each request twice": {nil, func(b *inn) {
			g := ann(b)
			for n := range 3 {
				last := g.plays(yes[:n]...)
				if n < 2 { // after the end it would be another call
					require.Equal(b.t, last.Asks, g.plays(yes[:n]...).Asks)
				}
			}
		}, "1/1/1"},
		"booked again": {nil, func(b *inn) {
			g := ann(b)
			one, two := g.books(g.plays(yes...)), g.books(g.plays(yes...))
			require.NotEqual(b.t, one, two)
		}, "2/2/2"},
		"resumed and booked again": {nil, func(b *inn) {
			g := ann(b)
			one, two := g.books(g.resumes(yes...)), g.books(g.resumes(yes...))
			require.NotEqual(b.t, one, two)
		}, "2/2/2"},
		"an answer is lost, and the request comes again": {nil, func(b *inn) {
			g := ann(b)
			room := g.begin()
			sure := g.answer(room, "double")
			one := g.books(g.answer(sure, "yes"))
			require.Equal(b.t, one, g.books(g.answer(sure, "yes")))
			require.Equal(b.t, sure.Asks, g.answer(room, "double").Asks)
			require.Equal(b.t, one, g.books(g.answer(sure, "yes")))
		}, "1/1/1"},
		"two windows, one after the other": {nil, func(b *inn) {
			g := ann(b)
			one, two := g.begin(), g.begin()
			first, second := g.answer(one, "double"), g.answer(two, "double")
			require.NotEqual(b.t, g.books(g.answer(first, "yes")), g.books(g.answer(second, "yes")))
		}, "2/2/2"},
		"two windows, and other answers": {nil, func(b *inn) {
			g := ann(b)
			one, two := g.begin(), g.begin()
			first, second := g.answer(one, "double"), g.answer(two, "single")
			require.NotEqual(b.t, g.books(g.answer(second, "yes")), g.books(g.answer(first, "yes")))
		}, "2/2/2"},
		"two windows, of which one is closed": {nil, func(b *inn) {
			g := ann(b)
			g.begin()
			two := g.begin()
			g.books(g.answer(g.answer(two, "double"), "yes"))
		}, "1/1/1"},
		"a window that was behind, and goes on as the first": {nil, func(b *inn) {
			g := ann(b)
			one := g.answer(g.begin(), "double")
			two := g.plays("double") // it has seen the first turn
			require.NotEqual(b.t, g.books(g.answer(two, "yes")), g.books(g.answer(one, "yes")))
		}, "2/2/2"},
		"an answer is corrected in a replay": {nil, func(b *inn) {
			g := ann(b)
			g.resumes("double")
			g.books(g.plays("single", "yes"))
		}, "2/2/1"},
		"split, and the same request again": {nil, func(b *inn) {
			g := ann(b)
			one, two := g.begin(), g.begin()
			g.answer(one, "double")
			for range 3 {
				sure := g.answer(two, "single")
				g.books(g.answer(sure, "yes"))
			}
		}, "2/2/1"},
		"declined, and then again": {nil, func(b *inn) {
			g := ann(b)
			room := g.begin()
			kit.Ended(b.t, g.send(room.State, kit.Declining(room)).Err, mrtr.Declined)
			g.books(g.plays(yes...))
		}, "2/1/1"},
		"other arguments": {nil, func(b *inn) {
			g := ann(b)
			g.begin()
			g.dates = "May"
			g.books(g.plays(yes...))
		}, "2/1/1"},
		"another user": {nil, func(b *inn) {
			ann(b).begin()
			bob := &guest{inn: b, who: "bob"}
			bob.books(bob.resumes(yes...))
		}, "2/1/1"},
		"a user whom nobody knows": {nil, func(b *inn) {
			g := &guest{inn: b, http: true}
			g.books(g.resumes(yes...))
		}, "3/2/1"},
		"turned off": {func(o *mrtr.Options) { o.Same = mrtr.SameNone }, func(b *inn) {
			g := ann(b)
			g.key = "a key of ann's"
			g.books(g.resumes(yes...))
		}, "3/2/1"},
		"the client crashes after the end, without a key": {nil, func(b *inn) {
			g := ann(b)
			require.NotEqual(b.t, g.books(g.resumes(yes...)), g.books(g.plays(yes...)))
		}, "2/2/2"},
		"with a key": {nil, func(b *inn) {
			g := ann(b)
			g.key = "1"
			one := g.books(g.resumes(yes...))
			require.Equal(b.t, one, g.books(g.begin()), "the end")
			time.Sleep(24 * time.Hour)
			require.Equal(b.t, one, g.books(g.begin()))
		}, "1/1/1"},
		"a key with other arguments, or other answers": {nil, func(b *inn) {
			g := ann(b)
			g.key = "1"
			room := g.begin()
			sure := g.answer(room, "double")
			kit.Code(b.t, g.answer(room, "single").Err, jsonrpc.CodeInvalidParams)
			g.dates = "May"
			refused := kit.Code(b.t, g.begin().Err, jsonrpc.CodeInvalidParams)
			require.Contains(b.t, refused.Message, "key")
			require.Len(b.t, b.seen.Of(observe.KeyRefused), 1)
			g.dates = ""
			g.books(g.answer(sure, "yes"))
		}, "1/1/1"},
		"one key of two users": {nil, func(b *inn) {
			for _, who := range []string{"ann", "bob"} {
				g := &guest{inn: b, who: who, key: "1"}
				g.books(g.resumes(yes...))
			}
		}, "2/2/2"},
		"two keys": {nil, func(b *inn) {
			for _, key := range []string{"1", "2"} {
				g := &guest{inn: b, who: "ann", key: key}
				g.books(g.resumes(yes...))
			}
		}, "2/2/2"},
		"a short key of a user whom nobody knows": {nil, func(b *inn) {
			g := &guest{inn: b, http: true, key: "123456789012345"}
			g.books(g.resumes(yes...))
		}, "3/2/1"},
		"a key that is a secret": {nil, func(b *inn) {
			g := &guest{inn: b, http: true, key: "1234567890123456"}
			g.books(g.resumes(yes...))
		}, "1/1/1"},
		"a user who takes the time": {nil, func(b *inn) {
			g := ann(b)
			const slow = statecodec.DefaultTTL - time.Minute
			g.begin()
			time.Sleep(slow)
			g.plays("double")
			time.Sleep(slow)
			g.books(g.plays(yes...))
		}, "1/1/1"},
	} {
		for _, style := range innStyles {
			for _, instances := range []int{1, 2} {
				if style == "coroutine" && (instances > 1 || strings.HasPrefix(name, "a user who takes")) {
					continue // its frame is at one instance, for a quarter of an hour
				}
				kit.InBubble(t, fmt.Sprintf("%s/%s/%d", name, style, instances), func(t *testing.T) {
					b := newInn(t, style, instances, c.options)
					c.play(b)
					require.Equal(t, c.did, b.did())
				})
			}
		}
	}
}

// Users who begin, answer, leave, come back and lose answers, in any order, with equal requests: each
// call that somebody finished is charged once, and has a receipt of its own.
func TestEqualCallsAreNotMerged(t *testing.T) {
	for _, style := range []string{"native", "journal", "steps"} {
		for seed := range uint64(4) {
			kit.InBubble(t, fmt.Sprintf("%s, seed %d", style, seed), func(t *testing.T) {
				b := newInn(t, style, 2, nil)
				random := rand.New(rand.NewPCG(seed, 1))
				type window struct {
					g    *guest
					at   kit.Reply
					room string
				}
				var open []*window
				receipts := map[string]bool{}
				for range 400 {
					if len(open) < 6 && random.IntN(3) == 0 || len(open) == 0 {
						g := &guest{inn: b, who: []string{"ann", "bob", "eve"}[random.IntN(3)], sent: random.IntN(2), dates: []string{"", "May"}[random.IntN(2)]}
						at := g.begin()
						require.Equal(t, []string{"room"}, at.Asks, "%v", at.Err)
						open = append(open, &window{g, at, []string{"double", "single"}[random.IntN(2)]})
						continue
					}
					i := random.IntN(len(open))
					w := open[i]
					if random.IntN(8) == 0 { // the user leaves
						open = slices.Delete(open, i, i+1)
						continue
					}
					next := w.g.answer(w.at, w.room)
					if random.IntN(4) == 0 { // the answer is lost
						again := w.g.answer(w.at, w.room)
						require.Equal(t, next.Plan, again.Plan)
						require.Equal(t, next.Asks, again.Asks)
						next = again
					}
					if w.at = next; next.Asks == nil {
						receipt := w.g.books(next)
						require.False(t, receipts[receipt], "somebody else's booking")
						receipts[receipt] = true
						open = slices.Delete(open, i, i+1)
					}
				}
				require.NotEmpty(t, receipts)
				require.True(t, strings.HasSuffix(b.did(), fmt.Sprintf("/%d", len(receipts))), "%s, and %d receipts", b.did(), len(receipts))
			})
		}
	}
}

// Equal calls at once, of which every one is finished.
func TestEqualCallsAtOnce(t *testing.T) {
	for _, style := range []string{"native", "journal", "steps"} {
		t.Run(style, func(t *testing.T) {
			b := newInn(t, style, 2, nil)
			const users, calls = 8, 10
			var mu sync.Mutex
			receipts := map[string]bool{}
			var all sync.WaitGroup
			for i := range users {
				all.Go(func() {
					g := &guest{inn: b, who: "ann", sent: i}
					for range calls {
						last := g.begin()
						for last.Asks != nil {
							last = g.answer(last, "yes")
						}
						receipt := g.books(last)
						mu.Lock()
						receipts[receipt] = true
						mu.Unlock()
					}
				})
			}
			all.Wait()
			require.Len(t, receipts, users*calls)
			require.True(t, strings.HasSuffix(b.did(), fmt.Sprintf("/%d", users*calls)), b.did())
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

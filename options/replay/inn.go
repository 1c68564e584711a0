// Package replay has what a call comes to whose client plays it again: contracts that hold in every
// style, with every store, at any number of instances.
package replay

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Stay is what a guest asks for, and Booking what comes of it.
type (
	Stay struct {
		Dates string `json:"dates"`
	}
	Booking struct {
		Receipt string `json:"receipt"`
	}
)

// Inn drafts a booking, asks for the room, holds it, asks whether that is right, and charges.
type Inn struct {
	testing.TB
	Instances []mcp.ToolHandlerFor[Stay, Booking]

	pace   Pace
	held   bool // a call goes on at its instance alone
	places []*place

	mu      sync.Mutex
	done    map[string][]string // the idempotency keys of each effect
	undone  map[string][]string // and of each undo
	refused int                 // keys
}

// Pace is how long things take at an inn.
type Pace struct{ TTL, Skew, Lease, Looks time.Duration }

// Slow is as by default, for a bubble of testing/synctest. Quick is for a store that is elsewhere.
var (
	Slow  = Pace{statecodec.DefaultTTL, statecodec.DefaultSkew, 15 * time.Second, time.Minute}
	Quick = Pace{2 * time.Second, 50 * time.Millisecond, 2 * time.Second, 200 * time.Millisecond}
)

// Styles are the ways to write the tool.
var Styles = []string{"native", "journal", "resumable", "coroutine", "steps"}

// New opens an inn in a style, with an instance for each store, and with undos of its effects.
func New(t testing.TB, style string, stores []store.Store, change func(*mrtr.Options), undos ...mrtr.Undoing) *Inn {
	return open(t, style, stores, Slow, change, func(*Inn) []mrtr.Undoing { return undos })
}

func open(t testing.TB, style string, stores []store.Store, pace Pace, change func(*mrtr.Options), undos func(*Inn) []mrtr.Undoing) *Inn {
	inn := &Inn{TB: t, pace: pace, held: style == "coroutine", done: map[string][]string{}, undone: map[string][]string{}}
	key, audience := statecodec.GenerateKey(), rand.Text()
	for _, s := range stores {
		at := newPlace()
		inn.places = append(inn.places, at)
		o := &mrtr.Options{
			Durable:  durable.In(at.of(s), &durable.Options{Lease: pace.Lease, LookEvery: pace.Looks}),
			Listener: observe.With(inn), Audience: audience,
			State:     &statecodec.Options{Keys: []statecodec.Key{key}, TTL: pace.TTL, Skew: pace.Skew},
			Principal: func(ctx context.Context, _ mcp.Request) (string, error) { return ctx.Value(whoKey{}).(string), nil },
		}
		if change != nil {
			change(o)
		}
		rt, err := mrtr.New(o)
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, rt.Close())
			require.Zero(t, rt.Stats().Held)
		})
		inn.Instances = append(inn.Instances, mrtr.Tool(rt, inn.style(style, at).OnStop(undos(inn)...), &mrtr.HandlerOptions{Name: "stay"}))
	}
	t.Cleanup(func() {
		for _, at := range inn.places {
			at.wakes()
		}
	})
	return inn
}

type whoKey struct{}

// Observe counts the keys that are refused.
func (inn *Inn) Observe(_ context.Context, e observe.Event) {
	inn.mu.Lock()
	defer inn.mu.Unlock()
	if e.Kind == observe.KeyRefused {
		inn.refused++
	}
}

func (inn *Inn) does(at *place, effect, idem string) (string, error) {
	inn.mu.Lock()
	inn.done[effect] = append(inn.done[effect], idem)
	inn.mu.Unlock()
	at.reach(effect)
	return idem, nil
}

// undoes undoes an effect.
func (inn *Inn) undoes(effect string) mrtr.Undoing {
	return mrtr.UndoOf(effect, func(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
		inn.mu.Lock()
		defer inn.mu.Unlock()
		inn.undone[effect] = append(inn.undone[effect], u.Idem)
		return nil
	})
}

// A question names its guest, so that nobody is shown another's unnoticed.
func room(who string) mrtr.Question[string] {
	return mrtr.Elicit[string]("room", fmt.Sprintf("Which room, %q?", who)).Default("single")
}

func sure(who string) mrtr.Question[string] {
	return mrtr.Elicit[string]("sure", fmt.Sprintf("Are you sure, %q?", who)).Default("yes")
}

func (inn *Inn) style(name string, at *place) mrtr.Style[Stay, Booking] {
	do := func(ctx context.Context, c *mrtr.Call, effect string) (string, error) {
		return mrtr.Once(ctx, c, effect, func(_ context.Context, idem string) (string, error) { return inn.does(at, effect, idem) })
	}
	code := func(ctx context.Context, c *mrtr.Call, _ Stay) (b Booking, err error) {
		if _, err := do(ctx, c, "draft"); err != nil {
			return b, err
		}
		if _, err := linear.Ask(ctx, c, room(c.Principal())); err != nil {
			return b, err
		}
		if _, err := do(ctx, c, "hold"); err != nil {
			return b, err
		}
		if _, err := linear.Ask(ctx, c, sure(c.Principal())); err != nil {
			return b, err
		}
		b.Receipt, err = do(ctx, c, "charge")
		return b, err
	}
	switch name {
	case "native":
		return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ Stay) (need *mrtr.IncompleteResult, b Booking, err error) {
			if _, err := do(ctx, c, "draft"); err != nil {
				return nil, b, err
			}
			q := room(c.Principal())
			if _, ok := mrtr.Answer(c, q); !ok {
				return mrtr.Need(q), b, nil
			}
			if _, err := do(ctx, c, "hold"); err != nil {
				return nil, b, err
			}
			q = sure(c.Principal())
			if _, ok := mrtr.Answer(c, q); !ok {
				return mrtr.Need(q), b, nil
			}
			b.Receipt, err = do(ctx, c, "charge")
			return nil, b, err
		})
	case "journal":
		return linear.Journal(code)
	case "resumable":
		return linear.Resumable(code)
	case "coroutine":
		return linear.Coroutine(code)
	}
	return inn.list(at)
}

func (inn *Inn) list(at *place) mrtr.Style[Stay, Booking] {
	var list steps.List[Stay, Booking]
	step := func(effect string) steps.Step[string] {
		return steps.Do(&list, effect, func(_ context.Context, _ *steps.At[Stay], idem string) (string, error) {
			return inn.does(at, effect, idem)
		})
	}
	ask := func(key string, question func(who string) mrtr.Question[string]) {
		steps.Ask(&list, key, func(_ context.Context, at *steps.At[Stay]) (mrtr.Question[string], error) {
			return question(at.Call.Principal()), nil
		})
	}
	step("draft")
	ask("room", room)
	step("hold")
	ask("sure", sure)
	charge := step("charge")
	list.End(func(_ context.Context, at *steps.At[Stay]) (Booking, error) { return Booking{charge.Of(at)}, nil })
	return list.MustBuild()
}

// Did is how often each effect happened: "drafts/holds/charges".
func (inn *Inn) Did() string {
	inn.mu.Lock()
	defer inn.mu.Unlock()
	for effect, idems := range inn.done {
		require.Len(inn, slices.Compact(slices.Sorted(slices.Values(idems))), len(idems), "%s ran twice under one key", effect)
	}
	return fmt.Sprintf("%d/%d/%d", len(inn.done["draft"]), len(inn.done["hold"]), len(inn.done["charge"]))
}

// Undone is how often each effect was undone that a guest did not keep: "drafts/holds". None was that
// has not happened, and none of them twice.
func (inn *Inn) Undone() string {
	inn.mu.Lock()
	defer inn.mu.Unlock()
	for effect, idems := range inn.undone {
		require.Len(inn, slices.Compact(slices.Sorted(slices.Values(idems))), len(idems), "%s was undone twice", effect)
		require.Subset(inn, inn.done[effect], idems, effect)
	}
	return fmt.Sprintf("%d/%d", len(inn.undone["draft"]), len(inn.undone["hold"]))
}

// Charges is how often a guest was charged.
func (inn *Inn) Charges() int {
	inn.mu.Lock()
	defer inn.mu.Unlock()
	return len(inn.done["charge"])
}

// Guest is a client. Every request of its goes to the next instance.
type Guest struct {
	*Inn
	Who, Dates string
	Key        string // of its intent; "" for none
	At         int    // the instance of the next request
	Mute       bool   // its user cannot be asked

	http bool // over HTTP, where nobody is known without a principal
}

// Reply is the outcome of a round: questions and a state, or an end.
type Reply struct {
	Asks    []string
	Receipt string
	Err     error

	state string
}

func (g *Guest) send(state string, answers mcp.InputResponseMap) Reply {
	meta := mcp.Meta{
		mcp.MetaKeyProtocolVersion:    wire.Modern,
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
	if g.Mute {
		meta[mcp.MetaKeyClientCapabilities] = map[string]any{}
	}
	if g.Key != "" {
		meta["idempotencyKey"] = g.Key
	}
	in := Stay{g.Dates}
	arguments, err := json.Marshal(in)
	require.NoError(g, err)
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "stay", Arguments: arguments, RequestState: state, InputResponses: answers}}
	if g.http {
		req.Extra = &mcp.RequestExtra{Header: http.Header{}}
	}
	for g.places[g.At%len(g.places)].dead.Load() {
		g.At++
	}
	handle := g.Instances[g.At%len(g.Instances)]
	if !g.held {
		g.At++
	}
	res, out, err := handle(context.WithValue(context.Background(), whoKey{}, g.Who), req, in)
	if err != nil || res == nil || res.InputRequests == nil {
		return Reply{Receipt: out.Receipt, Err: err}
	}
	for key, asked := range res.InputRequests {
		require.Containsf(g, asked.(*mcp.ElicitParams).Message, strconv.Quote(g.Who), "question %s of somebody else", key)
	}
	return Reply{Asks: slices.Sorted(maps.Keys(res.InputRequests)), state: res.RequestState}
}

// Begin sends a first request.
func (g *Guest) Begin() Reply { return g.send("", nil) }

// Answer answers the question that was asked.
func (g *Guest) Answer(asked Reply, value string) Reply {
	require.Len(g, asked.Asks, 1, "%v", asked.Err)
	key := asked.Asks[0]
	return g.send(asked.state, mcp.InputResponseMap{key: &mcp.ElicitResult{Action: "accept", Content: map[string]any{key: value}}})
}

func (g *Guest) declines(asked Reply) Reply {
	return g.send(asked.state, mcp.InputResponseMap{asked.Asks[0]: &mcp.ElicitResult{Action: "decline"}})
}

// Plays plays the call from its first request.
func (g *Guest) Plays(answers ...string) Reply {
	last := g.Begin()
	for _, value := range answers {
		last = g.Answer(last, value)
	}
	return last
}

// resumes plays the whole call again for each answer, as an agent does that resumes from its top.
func (g *Guest) resumes(answers ...string) (last Reply) {
	for n := range len(answers) + 1 {
		last = g.Plays(answers[:n]...)
	}
	return last
}

// Books requires that the call has ended with a receipt, and returns that.
func (g *Guest) Books(r Reply) string {
	require.NoError(g, r.Err)
	require.NotEmpty(g, r.Receipt, "%v", r.Asks)
	return r.Receipt
}

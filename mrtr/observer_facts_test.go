package mrtr_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

const roundOneParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// observedCall makes a call of two rounds through a handler, as a modern client does. The
// user takes wait. It returns the state.
func observedCall(t *testing.T, h mcp.ToolHandlerFor[input, output], wait time.Duration, first, second mcp.Meta) string {
	t.Helper()
	meta := func(more mcp.Meta) mcp.Meta {
		m := mcp.Meta{
			mcp.MetaKeyProtocolVersion:    "2026-07-28",
			mcp.MetaKeyClientInfo:         map[string]any{"name": "chat", "version": strings.Repeat("9", 500)},
			mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
		}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	res, _, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta(first), Name: "tool"}}, input{})
	require.NoError(t, err)
	time.Sleep(wait)
	_, out, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: meta(second), Name: "tool", RequestState: res.RequestState,
		InputResponses: mcp.InputResponseMap{"units": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}},
	}}, input{})
	require.NoError(t, err)
	require.Equal(t, "metric", out.Said)
	return res.RequestState
}

// Every event tells who called, with which client and revision, and the trace that the
// call began in, whatever trace a later round is part of.
func TestEventsTellWhoCalls(t *testing.T) {
	for name, style := range map[string]mrtr.Style[input, output]{
		"native": mrtr.Native(asking(units, itself)),
		"coroutine": mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
			v, err := mrtr.Ask(ctx, c, units)
			return output{v}, err
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt, seen := newRuntime(t, &mrtr.Options{Principal: func(context.Context, mcp.Request) (string, error) { return "anna", nil }})
				h := mrtr.Tool(rt, style, nil)
				observedCall(t, h, 90*time.Second, mcp.Meta{"traceparent": roundOneParent},
					mcp.Meta{"traceparent": strings.Replace(roundOneParent, "4bf", "abc", 1)})
				events := seen.all()
				require.NotEmpty(t, events)
				for _, e := range events {
					require.Equal(t, "anna", e.Principal, e.Kind)
					require.Equal(t, "2026-07-28", e.Revision, e.Kind)
					require.True(t, strings.HasPrefix(e.Client, "chat 999"), e.Client)
					require.Less(t, len(e.Client), 140)
					require.Equal(t, roundOneParent, e.TraceParent, e.Kind)
				}
				started := seen.of(mrtr.RoundStarted)
				require.Zero(t, started[0].Waited)
				require.Equal(t, 90*time.Second, started[1].Waited)
			})
		})
	}
}

// A trace parent is kept for a client that sent one, where somebody observes: no other
// state grows by it.
func TestATraceParentCostsThoseThatSendOne(t *testing.T) {
	sizes := map[string]int{}
	for name, c := range map[string]struct {
		meta     mcp.Meta
		observer mrtr.Observer
	}{
		"traced":             {mcp.Meta{"traceparent": roundOneParent}, &recorder{}},
		"not traced":         {nil, &recorder{}},
		"not observed":       {mcp.Meta{"traceparent": roundOneParent}, nil},
		"no such parent":     {mcp.Meta{"traceparent": "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"}, &recorder{}},
		"in capital letters": {mcp.Meta{"traceparent": strings.ToUpper(roundOneParent)}, &recorder{}},
		"a long one":         {mcp.Meta{"traceparent": roundOneParent + strings.Repeat("-01", 100)}, &recorder{}},
		"another type":       {mcp.Meta{"traceparent": 7}, &recorder{}},
	} {
		rt, err := mrtr.New(&mrtr.Options{Observer: c.observer})
		require.NoError(t, err)
		sizes[name] = len(observedCall(t, mrtr.Tool(rt, mrtr.Native(asking(units, itself)), nil), 0, c.meta, nil))
		require.NoError(t, rt.Close())
	}
	require.Equal(t, sizes["not traced"]+63, sizes["traced"])
	for name, size := range sizes {
		if name != "traced" {
			require.Equal(t, sizes["not traced"], size, name)
		}
	}
}

func TestEventsOfEffects(t *testing.T) {
	failed := errors.New("the desk is closed")
	type seen struct {
		kind   mrtr.EventKind
		effect string
		reason string
		err    error
	}
	once := func(key string, f func() (int, error)) mrtr.Style[input, output] {
		return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
			_, err := mrtr.Once(ctx, c, key, func(context.Context, string) (int, error) { return f() })
			return nil, output{}, err
		})
	}
	steps := func(f func() (int, error)) mrtr.Style[input, output] {
		var list mrtr.Steps[input, output]
		mrtr.DoStep(&list, "book", func(context.Context, *mrtr.At[input], string) (int, error) { return f() })
		list.End(func(context.Context, *mrtr.At[input]) (output, error) { return output{}, nil })
		return list.MustBuild()
	}
	for _, c := range []struct {
		explanation string
		style       mrtr.Style[input, output]
		want        []seen
	}{
		{"done", once("book", func() (int, error) { return 1, nil }), []seen{{mrtr.EffectStarted, "book", "", nil}, {mrtr.EffectDone, "book", "", nil}}},
		{"failed", once("book", func() (int, error) { return 0, failed }), []seen{{mrtr.EffectStarted, "book", "", nil}, {mrtr.EffectFailed, "book", "", failed}}},
		{"a step is done", steps(func() (int, error) { return 1, nil }), []seen{{mrtr.EffectStarted, "book", "", nil}, {mrtr.EffectDone, "book", "", nil}}},
		{"a step is skipped", steps(func() (int, error) { return 1, mrtr.ErrSkip }), []seen{{mrtr.EffectStarted, "book", "", nil}, {mrtr.EffectDone, "book", "skipped", nil}}},
		{"a step failed", steps(func() (int, error) { return 0, failed }), []seen{{mrtr.EffectStarted, "book", "", nil}, {mrtr.EffectFailed, "book", "", failed}}},
		{"panicked", once("book", func() (int, error) { panic("oh no") }), []seen{{mrtr.EffectStarted, "book", "", nil}, {mrtr.EffectFailed, "book", "it did not return", nil}}},
	} {
		rt, events := newRuntime(t, nil)
		_, _, _ = mrtr.Tool(rt, c.style, nil)(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "tool"}}, input{})
		var got []seen
		for _, e := range events.all() {
			if e.Effect != "" {
				got = append(got, seen{e.Kind, e.Effect, e.Reason, e.Err})
			}
		}
		require.Equal(t, c.want, got, c.explanation)
	}
}

// contextual gives every round a context, and notes that of each event.
type contextual struct {
	give func(ctx context.Context, e mrtr.Event) context.Context
	recorder
	contexts []any
}

type contextualKey struct{}

func (o *contextual) RoundContext(ctx context.Context, e mrtr.Event) context.Context {
	return o.give(ctx, e)
}

func (o *contextual) Observe(ctx context.Context, e mrtr.Event) {
	o.recorder.Observe(ctx, e)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.contexts = append(o.contexts, ctx.Value(contextualKey{}))
}

// The handler, and the events of its round, have the context that the observer gives.
func TestAnObserverGivesARoundItsContext(t *testing.T) {
	var entered []any
	enters := func(ctx context.Context) { entered = append(entered, ctx.Value(contextualKey{})) }
	styles := map[string]mrtr.Style[input, output]{
		"native": mrtr.Native(func(ctx context.Context, call *mrtr.Call, in input) (*mrtr.IncompleteResult, output, error) {
			enters(ctx)
			return asking(units, itself)(ctx, call, in)
		}),
		"coroutine": mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
			enters(ctx)
			v, err := mrtr.Ask(ctx, c, units)
			enters(ctx)
			return output{v}, err
		}),
	}
	for _, c := range []struct {
		explanation string
		give        func(ctx context.Context, e mrtr.Event) context.Context
		value       func(round int) any
	}{
		{"one with a value", func(ctx context.Context, e mrtr.Event) context.Context {
			return context.WithValue(ctx, contextualKey{}, e.Round)
		}, func(round int) any { return round }},
		{"none", func(context.Context, mrtr.Event) context.Context { return nil }, func(int) any { return nil }},
		{"a panic", func(context.Context, mrtr.Event) context.Context { panic("oh no") }, func(int) any { return nil }},
	} {
		for name, style := range styles {
			t.Run(c.explanation+", "+name, func(t *testing.T) {
				entered = nil
				observer := &contextual{give: c.give}
				rt, _ := newRuntime(t, &mrtr.Options{Observer: observer})
				observedCall(t, mrtr.Tool(rt, style, nil), 0, nil, nil)
				require.Equal(t, []any{c.value(1), c.value(2)}, entered)
				require.NotEmpty(t, observer.of(mrtr.RoundStarted))
				for i, e := range observer.all() {
					require.Equal(t, c.value(e.Round), observer.contexts[i], e.Kind)
				}
			})
		}
	}
}

func TestStatsCountWhatIsHeld(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	running := make(chan mrtr.Stats, 1)
	h := mrtr.Tool(rt, mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
		v, err := mrtr.Ask(ctx, c, units)
		running <- rt.Stats()
		return output{v}, err
	}), nil)
	require.Equal(t, mrtr.Stats{}, rt.Stats())
	observedCall(t, mrtr.Tool(rt, mrtr.Native(asking(units, itself)), &mrtr.HandlerOptions{Audience: "other"}), 0, nil, nil)
	require.Equal(t, mrtr.Stats{}, rt.Stats(), "a guarded handler holds nothing")
	held := mrtr.Stats{}
	meta := mcp.Meta{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
	res, _, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "tool"}}, input{})
	require.NoError(t, err)
	held = rt.Stats()
	require.Positive(t, held.HeldBytes)
	held.HeldBytes = 0
	require.Equal(t, mrtr.Stats{Held: 1}, held)
	_, _, err = h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: meta, Name: "tool", RequestState: res.RequestState,
		InputResponses: mcp.InputResponseMap{"units": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}},
	}}, input{})
	require.NoError(t, err)
	during := <-running
	require.Equal(t, 1, during.Running)
	require.Equal(t, 1, during.Rounds)
	require.Zero(t, during.Held)
	require.Equal(t, mrtr.Stats{}, rt.Stats())
	require.NoError(t, rt.Close())
	require.True(t, rt.Stats().Closed)
}

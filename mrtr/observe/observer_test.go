package observe_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
)

func TestEventsComeInOrder(t *testing.T) {
	rt, seen := newRuntime(t, nil)
	handler := guardedOf(func(s *stage, _ input) (output, error) {
		once(s, "effect", func(context.Context, string) (int, error) { return 1, nil })
		v := ask(s, units)
		return output{v}, nil
	})
	client := connect(t, serveTool(rt, handler, nil), nil)
	out := call(t, client, wire.Answers{"units": wire.InTurn(wire.Value(7), wire.Value("metric"))})
	said(t, out, "metric")

	events := seen.all()
	var kinds []observe.Kind
	for _, e := range events {
		kinds = append(kinds, e.Kind)
		require.Equal(t, events[0].Call, e.Call, "one call, one id")
		require.NotEmpty(t, e.Call)
		require.Equal(t, "tools/call", e.Method)
		require.Equal(t, "tool", e.Name)
		require.Equal(t, "modern", e.Era.String())
	}
	require.Equal(t, []observe.Kind{
		observe.RoundStarted, observe.HandlerEntered, observe.EffectStarted, observe.EffectDone, observe.QuestionsAsked,
		observe.RoundStarted, observe.AnswerRefused, observe.QuestionsAsked, // the answer did not fit
		observe.RoundStarted, observe.QuestionAnswered, observe.HandlerEntered, observe.CallCompleted,
	}, kinds)
	require.Equal(t, []int{1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3}, func() (rounds []int) {
		for _, e := range events {
			rounds = append(rounds, e.Round)
		}
		return rounds
	}())
	require.Equal(t, "effect", seen.of(observe.EffectDone)[0].Effect)
	require.Equal(t, "units", seen.of(observe.AnswerRefused)[0].Question)
	asked := seen.of(observe.QuestionsAsked)[0]
	require.Equal(t, []string{"units"}, asked.Questions)
	require.Equal(t, len(out.States[0]), asked.StateBytes)
	require.Positive(t, asked.Duration)
	require.True(t, asked.HasEffects)
	require.False(t, events[0].HasEffects)
}

// logged runs one call with a LogObserver and returns its lines.
func logged(t *testing.T, h nativeHandler, answers wire.Answers) string {
	t.Helper()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rt, _ := newRuntime(t, &mrtr.Options{Listener: observe.With(observe.Log(logger))})
	call(t, connect(t, serveTool(rt, h, nil), nil), answers)
	return log.String()
}

func TestTheLevelsOfALog(t *testing.T) {
	failing := func(err error) nativeHandler {
		return func(context.Context, *mrtr.Call, input) (*mrtr.IncompleteResult, output, error) {
			return nil, output{}, err
		}
	}
	panicking := func(context.Context, *mrtr.Call, input) (*mrtr.IncompleteResult, output, error) { panic("oh no") }
	for _, c := range []struct {
		explanation string
		log         string
		wants       []string
	}{
		{"a good call", logged(t, asking(units, itself), wire.Answers{"units": wire.Value("metric")}),
			[]string{`level=DEBUG msg="round started"`, `level=DEBUG msg="handler entered"`, `level=INFO msg="questions asked"`, `questions=[units]`, `level=INFO msg="call completed"`, `round=2`}},
		{"a no", logged(t, asking(units, itself), wire.Answers{"units": wire.Decline}), []string{`level=INFO msg="call stopped"`, `error_type=declined`}},
		{"nothing usable", logged(t, asking(units, itself), nil), []string{`level=WARN msg="call stopped"`, `error_type=unanswered`}},
		{"an error", logged(t, failing(errors.New("oh no")), nil), []string{`level=ERROR msg="call stopped"`, `error_type=execution`}},
		{"a fault", logged(t, asking(mrtr.Elicit[func()]("q", "?"), nil), nil), []string{`level=ERROR msg="call stopped"`, `error_type=usage`}},
		{"a panic", logged(t, panicking, nil), []string{`level=ERROR msg="call stopped"`, `error_type=panic`, `observer_test.go`}},
	} {
		for _, want := range c.wants {
			require.Contains(t, c.log, want, c.explanation)
		}
		require.NotContains(t, c.log, "oh no", c.explanation)
	}
}

// A client that cannot be asked is no fault of the program, in either era.
func TestAClientThatCannotBeAskedIsAWarning(t *testing.T) {
	for _, opts := range []*wire.Options{{Capabilities: wire.Nothing}, legacyMute, negotiatedDown} {
		for _, needs := range [][]mrtr.AnyQuestion{nil, {units}} {
			logger, log := newLog()
			rt, _ := newRuntime(t, &mrtr.Options{Listener: observe.With(observe.Log(logger))})
			call(t, connect(t, serveTool(rt, asking(units, itself), &mrtr.HandlerOptions{Needs: needs}), opts), nil)
			require.Contains(t, log.String(), `level=WARN msg="call stopped"`)
			require.Contains(t, log.String(), "error_type=client_cannot_be_asked")
			require.NotContains(t, log.String(), "level=ERROR")
		}
	}
}

func TestARefusedStateIsLoggedWithItsReason(t *testing.T) {
	logger, log := newLog()
	rt, _ := newRuntime(t, &mrtr.Options{Listener: observe.With(observe.Log(logger))})
	client := connect(t, serveTool(rt, asking(units, itself), nil), nil)
	_ = send(t, client, wire.Request{Name: "tool", State: "forged-" + canary})
	require.Contains(t, log.String(), `level=WARN msg="state refused"`)
	require.Contains(t, log.String(), "reason=malformed")
	require.NotContains(t, log.String(), canary)
}

// Whatever is secret, or a user's, or the author's, carries a canary here, and
// none may sing in the log, in any round or outcome.
func TestALogHoldsNoSecrets(t *testing.T) {
	secret := "SECRETKEY-" + canary + "-0123456789abcdef"
	key, err := statecodec.NewKey([]byte(secret))
	require.NoError(t, err)
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rt, err := mrtr.New(&mrtr.Options{
		Listener:  observe.With(observe.Log(logger)),
		State:     &statecodec.Options{Keys: []statecodec.Key{key}},
		Unaskable: mrtr.UnaskableLegacyDefaults,
		Principal: func(context.Context, mcp.Request) (string, error) { return "PRINCIPAL-" + canary, nil },
	})
	require.NoError(t, err)
	q := mrtr.Elicit[string]("q", "MESSAGE-"+canary).Default("DEFAULT-" + canary)
	for _, end := range []string{"complete", "error", "panic"} {
		handler := func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
			v, err := mrtr.Once(ctx, c, "effect", func(context.Context, string) (string, error) { return "EFFECT-" + canary, nil })
			if err != nil {
				return nil, output{}, err
			}
			a, ok := mrtr.Answer(c, q)
			if !ok {
				return mrtr.Need(q), output{}, nil
			}
			switch end {
			case "error":
				return nil, output{}, errors.New(a + v)
			case "panic":
				panic(a + v)
			}
			return nil, output{a + v}, nil
		}
		server := serveTool(rt, handler, &mrtr.HandlerOptions{Audience: end})
		var tokens []string
		for _, opts := range []*wire.Options{nil, legacyClient, legacyMute} {
			client := connect(t, server, opts)
			for _, answer := range []wire.Answer{wire.Value("ANSWER-" + canary), wire.Value([]string{"WRONG-" + canary}), wire.Decline} {
				out, err := client.Call(context.Background(), "tool", map[string]any{"location": "ARGUMENT-" + canary}, wire.Answers{"q": answer})
				require.NoError(t, err)
				tokens = append(tokens, out.States...)
			}
		}
		require.NotEmpty(t, tokens)
		for _, token := range tokens {
			require.NotContains(t, log.String(), token)
		}
	}
	require.Greater(t, strings.Count(log.String(), "\n"), 50)
	require.NotContains(t, log.String(), canary)
	require.NotContains(t, log.String(), key.Text())
}

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
		"coroutine": linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
			v, err := linear.Ask(ctx, c, units)
			return output{v}, err
		}),
	} {
		inBubble(t, name, func(t *testing.T) {
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
				require.Equal(t, roundOneParent, e.Trace.Parent, e.Kind)
			}
			started := seen.of(observe.RoundStarted)
			require.Zero(t, started[0].Waited)
			require.Equal(t, 90*time.Second, started[1].Waited)
		})
	}
}

// A trace parent is kept for a client that sent one, where somebody observes: no other
// state grows by it.
func TestATraceParentCostsThoseThatSendOne(t *testing.T) {
	sizes := map[string]int{}
	for name, c := range map[string]struct {
		meta     mcp.Meta
		observer observe.Observer
	}{
		"traced":             {mcp.Meta{"traceparent": roundOneParent}, &recorder{}},
		"not traced":         {nil, &recorder{}},
		"not observed":       {mcp.Meta{"traceparent": roundOneParent}, nil},
		"no such parent":     {mcp.Meta{"traceparent": "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"}, &recorder{}},
		"in capital letters": {mcp.Meta{"traceparent": strings.ToUpper(roundOneParent)}, &recorder{}},
		"a long one":         {mcp.Meta{"traceparent": roundOneParent + strings.Repeat("-01", 100)}, &recorder{}},
		"another type":       {mcp.Meta{"traceparent": 7}, &recorder{}},
	} {
		rt, err := mrtr.New(&mrtr.Options{Listener: observe.With(c.observer)})
		require.NoError(t, err)
		sizes[name] = len(observedCall(t, mrtr.Tool(rt, mrtr.Native(asking(units, itself)), nil), 0, c.meta, nil))
		require.NoError(t, rt.Close())
	}
	require.Equal(t, sizes["not traced"]+88, sizes["traced"])
	for name, size := range sizes {
		if name != "traced" {
			require.Equal(t, sizes["not traced"], size, name)
		}
	}
}

func TestEventsOfEffects(t *testing.T) {
	failed := errors.New("the desk is closed")
	type seen struct {
		kind   observe.Kind
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
		var list steps.List[input, output]
		steps.Do(&list, "book", func(context.Context, *steps.At[input], string) (int, error) { return f() })
		list.End(func(context.Context, *steps.At[input]) (output, error) { return output{}, nil })
		return list.MustBuild()
	}
	for _, c := range []struct {
		explanation string
		style       mrtr.Style[input, output]
		want        []seen
	}{
		{"done", once("book", func() (int, error) { return 1, nil }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectDone, "book", "", nil}}},
		{"failed", once("book", func() (int, error) { return 0, failed }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectFailed, "book", "", failed}}},
		{"a step is done", steps(func() (int, error) { return 1, nil }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectDone, "book", "", nil}}},
		{"a step is skipped", steps(func() (int, error) { return 1, mrtr.ErrSkip }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectDone, "book", "skipped", nil}}},
		{"a step failed", steps(func() (int, error) { return 0, failed }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectFailed, "book", "", failed}}},
		{"panicked", once("book", func() (int, error) { panic("oh no") }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectFailed, "book", "it did not return", nil}, {observe.EffectInDoubt, "book", "", nil}}},
	} {
		rt, events := newRuntime(t, nil)
		_, _, _ = mrtr.Tool(rt, c.style, nil)(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "tool"}}, input{})
		var got []seen
		for _, e := range events.all() {
			if e.Effect != "" && e.Err != nil {
				require.EqualError(t, e.Err, failed.Error())
				e.Err = failed
			}
			if e.Effect != "" {
				got = append(got, seen{e.Kind, e.Effect, e.Reason, e.Err})
			}
		}
		require.Equal(t, c.want, got, c.explanation)
	}
}

// contextual gives every round a context, and notes that of each event.
type contextual struct {
	give func(ctx context.Context, e observe.Event) context.Context
	recorder
	contexts []any
}

type contextualKey struct{}

func (o *contextual) RoundContext(ctx context.Context, e observe.Event) context.Context {
	return o.give(ctx, e)
}

func (o *contextual) Observe(ctx context.Context, e observe.Event) {
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
		"coroutine": linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
			enters(ctx)
			v, err := linear.Ask(ctx, c, units)
			enters(ctx)
			return output{v}, err
		}),
	}
	for _, c := range []struct {
		explanation string
		give        func(ctx context.Context, e observe.Event) context.Context
		value       func(round int) any
	}{
		{"one with a value", func(ctx context.Context, e observe.Event) context.Context {
			return context.WithValue(ctx, contextualKey{}, e.Round)
		}, func(round int) any { return round }},
		{"none", func(context.Context, observe.Event) context.Context { return nil }, func(int) any { return nil }},
		{"a panic", func(context.Context, observe.Event) context.Context { panic("oh no") }, func(int) any { return nil }},
	} {
		for name, style := range styles {
			t.Run(c.explanation+", "+name, func(t *testing.T) {
				entered = nil
				observer := &contextual{give: c.give}
				rt, _ := newRuntime(t, &mrtr.Options{Listener: observe.With(observer)})
				observedCall(t, mrtr.Tool(rt, style, nil), 0, nil, nil)
				require.Equal(t, []any{c.value(1), c.value(2)}, entered)
				require.NotEmpty(t, observer.of(observe.RoundStarted))
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
	h := mrtr.Tool(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
		v, err := linear.Ask(ctx, c, units)
		running <- rt.Stats()
		return output{v}, err
	}), nil)
	require.Equal(t, mrtr.Stats{}, rt.Stats())
	observedCall(t, mrtr.Tool(rt, mrtr.Native(asking(units, itself)), &mrtr.HandlerOptions{Audience: "other"}), 0, nil, nil)
	require.Equal(t, mrtr.Stats{}, rt.Stats(), "a guarded handler holds nothing")
	held := mrtr.Stats{}
	meta := modernMeta()
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

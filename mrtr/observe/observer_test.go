package observe_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
)

func TestMain(m *testing.M) { kit.Main(m) }

func TestEventsComeInOrder(t *testing.T) {
	rt, seen := kit.NewRuntime(t, nil)
	handler := kit.Guarded(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
		kit.Once(s, "effect", func(context.Context, string) (int, error) { return 1, nil })
		v := kit.Ask(s, kit.Units)
		return kit.Output{Said: v}, nil
	})
	client := kit.Connect(t, kit.ServeTool(rt, handler, nil), nil)
	out := kit.Call(t, client, wire.Answers{"units": wire.InTurn(wire.Value(7), wire.Value("metric"))})
	kit.Said(t, out, "metric")

	events := seen.All()
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
	require.Equal(t, "effect", seen.Of(observe.EffectDone)[0].Effect)
	require.Equal(t, "units", seen.Of(observe.AnswerRefused)[0].Question)
	asked := seen.Of(observe.QuestionsAsked)[0]
	require.Equal(t, []string{"units"}, asked.Questions)
	require.Equal(t, len(out.States[0]), asked.StateBytes)
	require.Positive(t, asked.Duration)
	require.True(t, asked.HasEffects)
	require.False(t, events[0].HasEffects)
}

// logged runs one call with a Log and returns its lines.
func logged(t *testing.T, h kit.Handler, answers wire.Answers) string {
	t.Helper()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rt, _ := kit.NewRuntime(t, &mrtr.Options{Listener: observe.With(observe.Log(logger))})
	kit.Call(t, kit.Connect(t, kit.ServeTool(rt, h, nil), nil), answers)
	return log.String()
}

func TestTheLevelsOfALog(t *testing.T) {
	failing := func(err error) kit.Handler {
		return func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			return nil, kit.Output{}, err
		}
	}
	panicking := func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		panic("oh no")
	}
	for _, c := range []struct {
		explanation string
		log         string
		wants       []string
	}{
		{"a good call", logged(t, kit.Asking(kit.Units, kit.Itself), wire.Answers{"units": wire.Value("metric")}),
			[]string{`level=DEBUG msg="round started"`, `level=DEBUG msg="handler entered"`, `level=INFO msg="questions asked"`, `questions=[units]`, `level=INFO msg="call completed"`, `round=2`}},
		{"a no", logged(t, kit.Asking(kit.Units, kit.Itself), wire.Answers{"units": wire.Decline}), []string{`level=INFO msg="call stopped"`, `error_type=declined`}},
		{"nothing usable", logged(t, kit.Asking(kit.Units, kit.Itself), nil), []string{`level=WARN msg="call stopped"`, `error_type=unanswered`}},
		{"an error", logged(t, failing(errors.New("oh no")), nil), []string{`level=ERROR msg="call stopped"`, `error_type=execution`}},
		{"a fault", logged(t, kit.Asking(mrtr.Elicit[func()]("q", "?"), nil), nil), []string{`level=ERROR msg="call stopped"`, `error_type=usage`}},
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
	for _, opts := range []*wire.Options{{Capabilities: wire.Nothing}, kit.LegacyMute, kit.NegotiatedDown} {
		for _, needs := range [][]mrtr.AnyQuestion{nil, {kit.Units}} {
			logger, log := kit.NewLog()
			rt, _ := kit.NewRuntime(t, &mrtr.Options{Listener: observe.With(observe.Log(logger))})
			kit.Call(t, kit.Connect(t, kit.ServeTool(rt, kit.Asking(kit.Units, kit.Itself), &mrtr.HandlerOptions{Needs: needs}), opts), nil)
			require.Contains(t, log.String(), `level=WARN msg="call stopped"`)
			require.Contains(t, log.String(), "error_type=client_cannot_be_asked")
			require.NotContains(t, log.String(), "level=ERROR")
		}
	}
}

func TestARefusedStateIsLoggedWithItsReason(t *testing.T) {
	logger, log := kit.NewLog()
	rt, _ := kit.NewRuntime(t, &mrtr.Options{Listener: observe.With(observe.Log(logger))})
	client := kit.Connect(t, kit.ServeTool(rt, kit.Asking(kit.Units, kit.Itself), nil), nil)
	_ = kit.Send(t, client, wire.Request{Name: "tool", State: "forged-" + kit.Canary})
	require.Contains(t, log.String(), `level=WARN msg="state refused"`)
	require.Contains(t, log.String(), "reason=malformed")
	require.NotContains(t, log.String(), kit.Canary)
}

// Whatever is secret, or a user's, or the author's, carries a canary here, and
// none may sing in the log, in any round or outcome.
func TestALogHoldsNoSecrets(t *testing.T) {
	secret := "SECRETKEY-" + kit.Canary + "-0123456789abcdef"
	key, err := statecodec.NewKey([]byte(secret))
	require.NoError(t, err)
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rt, err := mrtr.New(&mrtr.Options{
		Listener:  observe.With(observe.Log(logger)),
		State:     &statecodec.Options{Keys: []statecodec.Key{key}},
		Unaskable: mrtr.UnaskableLegacyDefaults,
		Principal: func(context.Context, mcp.Request) (string, error) { return "PRINCIPAL-" + kit.Canary, nil },
	})
	require.NoError(t, err)
	q := mrtr.Elicit[string]("q", "MESSAGE-"+kit.Canary).Default("DEFAULT-" + kit.Canary)
	for _, end := range []string{"complete", "error", "panic"} {
		handler := func(ctx context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			v, err := mrtr.Once(ctx, c, "effect", func(context.Context, string) (string, error) { return "EFFECT-" + kit.Canary, nil })
			if err != nil {
				return nil, kit.Output{}, err
			}
			a, ok := mrtr.Answer(c, q)
			if !ok {
				return mrtr.Need(q), kit.Output{}, nil
			}
			switch end {
			case "error":
				return nil, kit.Output{}, errors.New(a + v)
			case "panic":
				panic(a + v)
			}
			return nil, kit.Output{Said: a + v}, nil
		}
		server := kit.ServeTool(rt, handler, &mrtr.HandlerOptions{Audience: end})
		var tokens []string
		for _, opts := range []*wire.Options{nil, kit.Legacy, kit.LegacyMute} {
			client := kit.Connect(t, server, opts)
			for _, answer := range []wire.Answer{wire.Value("ANSWER-" + kit.Canary), wire.Value([]string{"WRONG-" + kit.Canary}), wire.Decline} {
				out, err := client.Call(context.Background(), "tool", map[string]any{"location": "ARGUMENT-" + kit.Canary}, wire.Answers{"q": answer})
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
	require.NotContains(t, log.String(), kit.Canary)
	require.NotContains(t, log.String(), key.Text())
}

const roundOneParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// observedCall makes a call of two rounds through a handler, as a modern client does. The
// user takes wait. It returns the state.
func observedCall(t *testing.T, h mcp.ToolHandlerFor[kit.Input, kit.Output], wait time.Duration, first, second mcp.Meta) string {
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
	res, _, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta(first), Name: "tool"}}, kit.Input{})
	require.NoError(t, err)
	time.Sleep(wait)
	_, out, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: meta(second), Name: "tool", RequestState: res.RequestState,
		InputResponses: mcp.InputResponseMap{"units": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}},
	}}, kit.Input{})
	require.NoError(t, err)
	require.Equal(t, "metric", out.Said)
	return res.RequestState
}

// A trace parent is kept for a client that sent one, where somebody observes: no other
// state grows by it.
func TestATraceParentCostsThoseThatSendOne(t *testing.T) {
	sizes := map[string]int{}
	for name, c := range map[string]struct {
		meta     mcp.Meta
		observer observe.Observer
	}{
		"traced":             {mcp.Meta{"traceparent": roundOneParent}, &kit.Recorder{}},
		"not traced":         {nil, &kit.Recorder{}},
		"not observed":       {mcp.Meta{"traceparent": roundOneParent}, nil},
		"no such parent":     {mcp.Meta{"traceparent": "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"}, &kit.Recorder{}},
		"in capital letters": {mcp.Meta{"traceparent": strings.ToUpper(roundOneParent)}, &kit.Recorder{}},
		"a long one":         {mcp.Meta{"traceparent": roundOneParent + strings.Repeat("-01", 100)}, &kit.Recorder{}},
		"another type":       {mcp.Meta{"traceparent": 7}, &kit.Recorder{}},
	} {
		rt, err := mrtr.New(&mrtr.Options{Listener: observe.With(c.observer)})
		require.NoError(t, err)
		sizes[name] = len(observedCall(t, mrtr.Tool(rt, mrtr.Native(kit.Asking(kit.Units, kit.Itself)), nil), 0, c.meta, nil))
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
	once := func(key string, f func() (int, error)) mrtr.Style[kit.Input, kit.Output] {
		return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			_, err := mrtr.Once(ctx, c, key, func(context.Context, string) (int, error) { return f() })
			return nil, kit.Output{}, err
		})
	}
	steps := func(f func() (int, error)) mrtr.Style[kit.Input, kit.Output] {
		var list steps.List[kit.Input, kit.Output]
		steps.Do(&list, "book", func(context.Context, *steps.At[kit.Input], string) (int, error) { return f() })
		list.End(func(context.Context, *steps.At[kit.Input]) (kit.Output, error) { return kit.Output{}, nil })
		return list.MustBuild()
	}
	for _, c := range []struct {
		explanation string
		style       mrtr.Style[kit.Input, kit.Output]
		want        []seen
	}{
		{"done", once("book", func() (int, error) { return 1, nil }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectDone, "book", "", nil}}},
		{"failed", once("book", func() (int, error) { return 0, failed }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectFailed, "book", "", failed}}},
		{"a step is done", steps(func() (int, error) { return 1, nil }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectDone, "book", "", nil}}},
		{"a step is skipped", steps(func() (int, error) { return 1, mrtr.ErrSkip }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectDone, "book", "skipped", nil}}},
		{"a step failed", steps(func() (int, error) { return 0, failed }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectFailed, "book", "", failed}}},
		{"panicked", once("book", func() (int, error) { panic("oh no") }), []seen{{observe.EffectStarted, "book", "", nil}, {observe.EffectFailed, "book", "it did not return", nil}, {observe.EffectInDoubt, "book", "", nil}}},
	} {
		rt, events := kit.NewRuntime(t, nil)
		_, _, _ = mrtr.Tool(rt, c.style, nil)(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "tool"}}, kit.Input{})
		var got []seen
		for _, e := range events.All() {
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
	kit.Recorder
	mu       sync.Mutex
	contexts []any
}

type contextualKey struct{}

func (o *contextual) RoundContext(ctx context.Context, e observe.Event) context.Context {
	return o.give(ctx, e)
}

func (o *contextual) Observe(ctx context.Context, e observe.Event) {
	o.Recorder.Observe(ctx, e)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.contexts = append(o.contexts, ctx.Value(contextualKey{}))
}

// The handler, and the events of its round, have the context that the observer gives.
func TestAnObserverGivesARoundItsContext(t *testing.T) {
	var entered []any
	enters := func(ctx context.Context) { entered = append(entered, ctx.Value(contextualKey{})) }
	styles := map[string]mrtr.Style[kit.Input, kit.Output]{
		"native": mrtr.Native(func(ctx context.Context, call *mrtr.Call, in kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			enters(ctx)
			return kit.Asking(kit.Units, kit.Itself)(ctx, call, in)
		}),
		"coroutine": linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ kit.Input) (kit.Output, error) {
			enters(ctx)
			v, err := linear.Ask(ctx, c, kit.Units)
			enters(ctx)
			return kit.Output{Said: v}, err
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
				rt, _ := kit.NewRuntime(t, &mrtr.Options{Listener: observe.With(observer)})
				observedCall(t, mrtr.Tool(rt, style, nil), 0, nil, nil)
				require.Equal(t, []any{c.value(1), c.value(2)}, entered)
				require.NotEmpty(t, observer.Of(observe.RoundStarted))
				for i, e := range observer.All() {
					require.Equal(t, c.value(e.Round), observer.contexts[i], e.Kind)
				}
			})
		}
	}
}

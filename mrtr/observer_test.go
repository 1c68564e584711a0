package mrtr_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

func TestEventsComeInOrder(t *testing.T) {
	rt, seen := newRuntime(t, nil)
	handler := func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		if _, err := mrtr.Once(ctx, c, "effect", func(context.Context, string) (int, error) { return 1, nil }); err != nil {
			return nil, output{}, err
		}
		v, ok := mrtr.Answer(c, units)
		if !ok {
			return mrtr.Need(units), output{}, nil
		}
		return nil, output{v}, nil
	}
	client := connect(t, serveTool(rt, handler, nil), nil)
	out := call(t, client, wire.Answers{"units": wire.InTurn(wire.Value(7), wire.Value("metric"))})
	said(t, out, "metric")

	events := seen.all()
	var kinds []mrtr.EventKind
	for _, e := range events {
		kinds = append(kinds, e.Kind)
		require.Equal(t, events[0].Call, e.Call, "one call, one id")
		require.NotEmpty(t, e.Call)
		require.Equal(t, "tools/call", e.Method)
		require.Equal(t, "tool", e.Name)
		require.Equal(t, "modern", e.Era.String())
	}
	require.Equal(t, []mrtr.EventKind{
		mrtr.RoundStarted, mrtr.HandlerEntered, mrtr.EffectStarted, mrtr.EffectDone, mrtr.QuestionsAsked,
		mrtr.RoundStarted, mrtr.AnswerRefused, mrtr.QuestionsAsked, // the answer did not fit
		mrtr.RoundStarted, mrtr.HandlerEntered, mrtr.CallCompleted,
	}, kinds)
	require.Equal(t, []int{1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3}, func() (rounds []int) {
		for _, e := range events {
			rounds = append(rounds, e.Round)
		}
		return rounds
	}())
	require.Equal(t, "effect", seen.of(mrtr.EffectDone)[0].Effect)
	require.Equal(t, "units", seen.of(mrtr.AnswerRefused)[0].Question)
	asked := seen.of(mrtr.QuestionsAsked)[0]
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
	rt, _ := newRuntime(t, &mrtr.Options{Observer: mrtr.LogObserver(logger)})
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
		{"a fault", logged(t, needing(mrtr.Elicit[func()]("q", "?")), nil), []string{`level=ERROR msg="call stopped"`, `error_type=usage`}},
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
			var log bytes.Buffer
			rt, _ := newRuntime(t, &mrtr.Options{Observer: mrtr.LogObserver(slog.New(slog.NewTextHandler(&log, nil)))})
			call(t, connect(t, serveTool(rt, asking(units, itself), &mrtr.HandlerOptions{Needs: needs}), opts), nil)
			require.Contains(t, log.String(), `level=WARN msg="call stopped"`)
			require.Contains(t, log.String(), "error_type=client_cannot_be_asked")
			require.NotContains(t, log.String(), "level=ERROR")
		}
	}
}

func TestARefusedStateIsLoggedWithItsReason(t *testing.T) {
	var log bytes.Buffer
	rt, _ := newRuntime(t, &mrtr.Options{Observer: mrtr.LogObserver(slog.New(slog.NewTextHandler(&log, nil)))})
	client := connect(t, serveTool(rt, asking(units, itself), nil), nil)
	_, err := client.Send(context.Background(), wire.Request{Name: "tool", State: "forged-" + canary})
	require.NoError(t, err)
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
		Observer:  mrtr.LogObserver(logger),
		State:     &statecodec.Options{Keys: []statecodec.Key{key}},
		Legacy:    mrtr.LegacyBridgeOrDefaults,
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
				return mrtr.Need(q).Carry("CARRIED-" + canary), output{}, nil
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

type panickingObserver struct{}

func (panickingObserver) Observe(context.Context, mrtr.Event) { panic("watching") }

func TestAnObserverThatPanicsEndsNothing(t *testing.T) {
	rt, _ := newRuntime(t, &mrtr.Options{Observer: panickingObserver{}})
	said(t, call(t, connect(t, serveTool(rt, asking(units, itself), nil), nil), wire.Answers{"units": wire.Value("metric")}), "metric")
}

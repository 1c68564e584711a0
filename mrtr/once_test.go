package mrtr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// An effect in Once happens once, in however many rounds it is asked for; its
// idem is the same whenever it is tried, and another in another call.
func TestOnceRunsOnce(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut]) {
		idems := map[string]int{}
		tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, "book", func(_ context.Context, idem string) (string, error) {
				idems[idem]++
				return fmt.Sprint("booking ", len(idems)), nil
			})
		}))
		for call := 1; call <= 2; call++ {
			last, rounds := tool.run()
			require.NoError(t, last.err)
			require.Equal(t, 3, rounds)
			require.Equal(t, fmt.Sprint("booking ", call), last.plan)
		}
		require.Len(t, idems, 2)
		for idem, times := range idems {
			require.Equal(t, 1, times)
			require.True(t, strings.HasSuffix(idem, ".book"), idem)
		}
	})
}

// The wrong way beside it: above the guard of a guarded handler everything
// runs in every round. This is what Once is for.
func TestAnUnwrappedEffectFiresTwice(t *testing.T) {
	var did deeds
	wrapped := serveTrip(t, guardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
		return mrtr.Once(ctx, c, "charge", did.do("wrapped"))
	}, "q"))
	unwrapped := serveTrip(t, guardedTrip(func(context.Context, *mrtr.Call) (string, error) {
		did.note("unwrapped")
		return "", nil
	}, "q"))
	for _, tool := range []*tripTool{wrapped, unwrapped} {
		last, rounds := tool.run()
		require.NoError(t, last.err)
		require.Equal(t, 2, rounds)
	}
	require.Equal(t, 1, did.count("wrapped"))
	require.Equal(t, 2, did.count("unwrapped"))
}

// fare loses something on its way through JSON.
type fare struct {
	Amount int       `json:"amount"`
	At     time.Time `json:"at"`
	note   string
}

// The caller never sees the value that f made, only what later rounds will
// see: a field that JSON does not carry is lost at once, not in round two.
func TestOnceGivesTheValueAfterEncoding(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut]) {
		var seen []fare
		tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			v, err := mrtr.Once(ctx, c, "quote", func(context.Context, string) (fare, error) {
				return fare{Amount: 7, At: time.Now(), note: "window seat"}, nil
			})
			seen = append(seen, v)
			return "", err
		}))
		last, _ := tool.run()
		require.NoError(t, last.err)
		require.GreaterOrEqual(t, len(seen), 3)
		for _, v := range seen {
			require.Equal(t, seen[0], v)
			require.Empty(t, v.note)
		}
	})
}

// A nil value is a value.
func TestOnceRemembersNothingAsAValue(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut]) {
		var did deeds
		tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			p, err := mrtr.Once(ctx, c, "pointer", func(context.Context, string) (*fare, error) {
				did.note("pointer")
				return nil, nil
			})
			if err != nil || p != nil {
				return "", fmt.Errorf("%v, %w", p, err)
			}
			v, err := mrtr.Once(ctx, c, "any", func(context.Context, string) (any, error) {
				did.note("any")
				return nil, nil
			})
			return fmt.Sprint(v), err
		}))
		last, _ := tool.run()
		require.NoError(t, last.err)
		require.Equal(t, "<nil>", last.plan)
		require.Equal(t, 1, did.count("pointer"))
		require.Equal(t, 1, did.count("any"))
	})
}

// A failure is not remembered. The handler that goes on from it asks for the
// effect again, and it runs.
func TestOnceForgetsAnError(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut]) {
		var did deeds
		closed := errors.New("the desk is closed")
		tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			v, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) {
				if did.note("try") == 1 {
					return "", closed
				}
				did.note("booked")
				return "booked", nil
			})
			if err != nil && err.Error() == closed.Error() {
				return "later", nil
			}
			return v, err
		}))
		last, _ := tool.run()
		require.NoError(t, last.err)
		require.Equal(t, "booked", last.plan)
		require.Equal(t, 2, did.count("try"))
		require.Equal(t, 1, did.count("booked"))
	})
}

// An error that ends the call is the handler's own, whole.
func TestOnceHandsTheErrorThrough(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut]) {
		closed := errors.New("the desk is closed")
		last := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { return "", closed })
		})).begin()
		require.ErrorIs(t, last.err, closed)
		var effect interface{ ToolErrorEffect() string }
		require.False(t, errors.As(last.err, &effect), "no effect has happened")
	})
}

// Do is Once, without a value.
func TestDoRunsOnce(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut]) {
		var idems []string
		last, rounds := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return "booked", mrtr.Do(ctx, c, "book", func(_ context.Context, idem string) error {
				idems = append(idems, idem)
				return nil
			})
		})).run()
		require.Equal(t, tripReply{plan: "booked"}, last)
		require.Equal(t, 3, rounds)
		require.Len(t, idems, 1)
		require.True(t, strings.HasSuffix(idems[0], ".book"), idems[0])

		closed := errors.New("the desk is closed")
		last = serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return "booked", mrtr.Do(ctx, c, "book", func(context.Context, string) error { return closed })
		})).begin()
		require.ErrorIs(t, last.err, closed)
	})
}

// A value that JSON cannot carry is found when the effect has run. The call
// may go on from that error, and the effect does not run again.
func TestOnceCannotRememberEveryValue(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut]) {
		var did deeds
		var errs []error
		tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (chan int, error) {
				did.note("booked")
				return make(chan int), nil
			})
			errs = append(errs, err)
			return "", nil
		}))
		last, _ := tool.run()
		require.NoError(t, last.err)
		require.Equal(t, 1, did.count("booked"))
		require.GreaterOrEqual(t, len(errs), 3)
		for _, err := range errs {
			var usage *mrtr.UsageError
			require.ErrorAs(t, err, &usage)
			require.Contains(t, err.Error(), `effect "book" ran, but its value c`)
			var effect interface{ ToolErrorEffect() string }
			require.ErrorAs(t, err, &effect)
			require.Equal(t, "unknown", effect.ToolErrorEffect(), "it ran, and what it has done is lost")
		}
	})
}

func TestOnceNoticesAnotherType(t *testing.T) {
	last := serveTrip(t, guardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
		if _, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { return "text", nil }); err != nil {
			return "", err
		}
		_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (int, error) { return 1, nil })
		return "", err
	})).begin()
	require.ErrorContains(t, last.err, `mrtr: effect "book" ran, but its value is not a int`)
}

func TestOnceRefusesWrongKeys(t *testing.T) {
	keys := []string{"", "with space", "über", strings.Repeat("x", 65)}
	require.NotEmpty(t, keys)
	for _, key := range keys {
		var did deeds
		last := serveTrip(t, guardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, key, did.do("it"))
		})).begin()
		var usage *mrtr.UsageError
		require.ErrorAs(t, last.err, &usage, key)
		require.Zero(t, did.count("it"))
	}
}

// The same key twice at a time is a mistake; two keys are two effects.
func TestOnceFromSeveralGoroutines(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut]) {
		tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			_, err := mrtr.Once(ctx, c, "same", func(ctx context.Context, _ string) (string, error) {
				refused := make(chan error)
				go func() {
					_, err := mrtr.Once(ctx, c, "same", func(context.Context, string) (string, error) { return "twice", nil })
					refused <- err
				}()
				err := <-refused
				var usage *mrtr.UsageError
				if !errors.As(err, &usage) || err.Error() != `mrtr: effect "same" is already running: each needs a key of its own` {
					return "", fmt.Errorf("not refused: %w", err)
				}
				return "once", nil
			})
			return "done", err
		}))
		last, _ := tool.run()
		require.NoError(t, last.err)

		var did deeds
		tool = serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			var all sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				key := fmt.Sprint("effect-", i)
				all.Go(func() { _, errs[i] = mrtr.Once(ctx, c, key, did.do(key)) })
			}
			all.Wait()
			return "done", errors.Join(errs...)
		}))
		last, _ = tool.run()
		require.NoError(t, last.err)
		for i := range 8 {
			require.Equal(t, 1, did.count(fmt.Sprint("effect-", i)))
		}
	})
}

// An error after an effect says so to whoever might try again.
func TestOnceMarksWhatFailsAfterIt(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut]) {
		var did deeds
		tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			if _, err := mrtr.Once(ctx, c, "book", did.do("book")); err != nil || c.Round() == 1 {
				return "", err
			}
			return "", errors.New("out of ink")
		}))
		last, _ := tool.run()
		require.EqualError(t, last.err, "out of ink")
		var effect interface{ ToolErrorEffect() string }
		require.ErrorAs(t, last.err, &effect)
		require.Equal(t, "applied", effect.ToolErrorEffect())
	})
}

// What travels is readable by whoever may open the state.
func TestOnceValuesAreJSON(t *testing.T) {
	rt := newTripRuntime(t, nil)
	mrtr.Unsigned(rt)
	asked := newTrip(rt, guardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
		return mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { return `a "quoted" seat`, nil })
	}, "q"), "").begin()
	var state struct {
		Done []struct {
			Kind, Key string
			Value     any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(asked.state), &state))
	require.Len(t, state.Done, 1)
	require.Equal(t, `a "quoted" seat`, state.Done[0].Value)
}

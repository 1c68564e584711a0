package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// An effect in Once happens once, in however many rounds it is asked for; its
// idem is the same whenever it is tried, and another in another call.
func TestOnceRunsOnce(t *testing.T) {
	kit.EachOnce(t, func(t *testing.T, style func(kit.Body) kit.Style) {
		idems := map[string]int{}
		tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, "book", func(_ context.Context, idem string) (string, error) {
				idems[idem]++
				return fmt.Sprint("booking ", len(idems)), nil
			})
		}))
		for call := 1; call <= 2; call++ {
			last, rounds := tool.Run()
			require.NoError(t, last.Err)
			require.Equal(t, 3, rounds)
			require.Equal(t, fmt.Sprint("booking ", call), last.Plan)
		}
		require.Len(t, idems, 2)
		for idem, times := range idems {
			require.Equal(t, 1, times)
			require.True(t, strings.HasSuffix(idem, ".book"), idem)
		}
	})
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
	kit.EachOnce(t, func(t *testing.T, style func(kit.Body) kit.Style) {
		var seen []fare
		tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			v, err := mrtr.Once(ctx, c, "quote", func(context.Context, string) (fare, error) {
				return fare{Amount: 7, At: time.Now(), note: "window seat"}, nil
			})
			seen = append(seen, v)
			return "", err
		}))
		last, _ := tool.Run()
		require.NoError(t, last.Err)
		require.NotEmpty(t, seen)
		for _, v := range seen {
			require.Equal(t, seen[0], v)
			require.Empty(t, v.note)
		}
	})
}

// A nil value is a value.
func TestOnceRemembersNothingAsAValue(t *testing.T) {
	kit.EachOnce(t, func(t *testing.T, style func(kit.Body) kit.Style) {
		var did kit.Deeds
		tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			p, err := mrtr.Once(ctx, c, "pointer", func(context.Context, string) (*fare, error) {
				did.Note("pointer")
				return nil, nil
			})
			if err != nil || p != nil {
				return "", fmt.Errorf("%v, %w", p, err)
			}
			v, err := mrtr.Once(ctx, c, "any", func(context.Context, string) (any, error) {
				did.Note("any")
				return nil, nil
			})
			return fmt.Sprint(v), err
		}))
		last, _ := tool.Run()
		require.Equal(t, kit.Reply{Plan: "<nil>"}, last)
		require.Equal(t, 1, did.Count("pointer"))
		require.Equal(t, 1, did.Count("any"))
	})
}

// A value that JSON cannot carry is found when the effect has run. The call
// may go on from that error, and the effect does not run again.
func TestOnceCannotRememberEveryValue(t *testing.T) {
	kit.EachOnce(t, func(t *testing.T, style func(kit.Body) kit.Style) {
		var did kit.Deeds
		var errs []error
		tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (chan int, error) {
				did.Note("booked")
				return make(chan int), nil
			})
			errs = append(errs, err)
			return "", nil
		}))
		last, _ := tool.Run()
		require.NoError(t, last.Err)
		require.Equal(t, 1, did.Count("booked"))
		require.NotEmpty(t, errs)
		for _, err := range errs {
			kit.Misuse(t, err)
			require.Contains(t, err.Error(), `effect "book" ran, but its value c`)
			require.Equal(t, "unknown", kit.EffectOf(err), "it ran, and what it has done is lost")
		}
	})
}

func TestOnceNoticesAnotherType(t *testing.T) {
	last, _ := kit.ServeTrip(t, kit.GuardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
		if c.Round() == 1 {
			return mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { return "text", nil })
		}
		_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (int, error) { return 1, nil })
		return "", err
	}, "q")).Run()
	require.ErrorContains(t, last.Err, `mrtr: effect "book" ran, but its value is not a int`)
}

func TestOnceRefusesWrongKeys(t *testing.T) {
	keys := []string{"", "with space", "über", strings.Repeat("x", 65)}
	require.NotEmpty(t, keys)
	for _, key := range keys {
		var did kit.Deeds
		last := kit.ServeTrip(t, kit.GuardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, key, did.Do("it"))
		})).Begin()
		kit.Misuse(t, last.Err, key)
		require.Zero(t, did.Count("it"))
	}
}

// The same key twice at a time is a mistake; two keys are two effects.
func TestOnceFromSeveralGoroutines(t *testing.T) {
	kit.EachOnce(t, func(t *testing.T, style func(kit.Body) kit.Style) {
		tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			_, err := mrtr.Once(ctx, c, "same", func(ctx context.Context, _ string) (string, error) {
				refused := make(chan error)
				go func() {
					_, err := mrtr.Once(ctx, c, "same", func(context.Context, string) (string, error) { return "twice", nil })
					refused <- err
				}()
				err := <-refused
				var usage *mrtr.UsageError
				if !errors.As(err, &usage) || err.Error() != `mrtr: key "same" stands for two effects: each needs a key of its own` {
					return "", fmt.Errorf("not refused: %w", err)
				}
				return "once", nil
			})
			return "done", err
		}))
		last, _ := tool.Run()
		require.NoError(t, last.Err)

		var did kit.Deeds
		tool = kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			var all sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				key := fmt.Sprint("effect-", i)
				all.Go(func() { _, errs[i] = mrtr.Once(ctx, c, key, did.Do(key)) })
			}
			all.Wait()
			return "done", errors.Join(errs...)
		}))
		last, _ = tool.Run()
		require.NoError(t, last.Err)
		for i := range 8 {
			require.Equal(t, 1, did.Count(fmt.Sprint("effect-", i)))
		}
	})
}

// Functions registered for the end run at the end, once, and not at all when the
// call does not complete: a handler that is entered three times
// registers three times, and only the last counts.
func TestOnceOnComplete(t *testing.T) {
	var did kit.Deeds
	register := func(c *mrtr.Call) { c.OnComplete(func(context.Context) { did.Note("completed") }) }
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		register(s.Call)
		for _, key := range []string{"first", "second"} {
			kit.Ask(s, kit.Text(key))
		}
		return kit.Out{}, nil
	})
	var list steps.List[kit.In, kit.Out]
	for _, key := range []string{"first", "second"} {
		steps.Ask(&list, key, func(_ context.Context, at *steps.At[kit.In]) (mrtr.Question[string], error) {
			register(at.Call)
			return kit.Text(key), nil
		})
	}
	list.End(func(_ context.Context, at *steps.At[kit.In]) (kit.Out, error) {
		register(at.Call)
		return kit.Out{}, nil
	})
	steps := kit.Build(t, &list)
	styles["steps"] = steps
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			did = kit.Deeds{}
			tool := kit.ServeTrip(t, style)
			asked := tool.Begin()
			require.Error(t, tool.Round(t.Context(), "", asked.State, kit.Declining(asked)).Err)
			require.Zero(t, did.Count("completed"), "a decline completes nothing")
			asked = tool.Answer(tool.Begin(), "x")
			require.Equal(t, []string{"second"}, asked.Asks)
			require.Zero(t, did.Count("completed"), "nor does a question")
			require.NoError(t, tool.Answer(asked, "y").Err)
			require.Equal(t, 1, did.Count("completed"))
		})
	}
}

// A handler that is entered twice in one round, because its question was
// answered by itself, has registered twice, and completes once.
func TestOnceOnCompleteWhenEnteredAgain(t *testing.T) {
	var did kit.Deeds
	sure := mrtr.Confirm("sure", "Sure?")
	register := func(c *mrtr.Call) {
		did.Note("entered")
		c.OnComplete(func(context.Context) { did.Note("completed") })
	}
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		register(s.Call)
		kit.Ask(s, sure)
		return kit.Out{}, nil
	})
	var list kit.Steps
	steps.Ask(&list, "sure", func(_ context.Context, at *kit.At) (mrtr.Question[bool], error) {
		register(at.Call)
		return sure, nil
	})
	list.End(func(_ context.Context, at *kit.At) (kit.Out, error) {
		register(at.Call)
		return kit.Out{}, nil
	})
	styles["steps"] = kit.Build(t, &list)
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			did = kit.Deeds{}
			tool := kit.ServeTrip(t, style)
			tool.Mute = true
			reply := tool.Begin()
			require.NoError(t, reply.Err)
			require.Nil(t, reply.Asks)
			require.Equal(t, 1, did.Count("completed"))
			if name != "coroutine" && name != "resumable" {
				require.Equal(t, 2, did.Count("entered"))
			}
		})
	}
}

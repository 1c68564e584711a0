package mrtr_test

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// seatStyles ask for a seat, book it, and ask for a yes, in every style. They pass on
// the key of each attempt.
func seatStyles(t *testing.T, book func(idem, seat string) error) map[string]mrtr.Style[tripIn, tripOut] {
	once := func(ctx context.Context, c *mrtr.Call, seat string) error {
		_, err := mrtr.Once(ctx, c, "book", func(_ context.Context, idem string) (string, error) { return seat, book(idem, seat) })
		return err
	}
	linear := func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		seat, err := mrtr.Ask(ctx, c, text("seat"))
		if err != nil {
			return tripOut{}, err
		}
		_ = once(ctx, c, seat)
		if _, err = mrtr.Ask(ctx, c, text("more")); err != nil {
			return tripOut{}, err
		}
		return tripOut{}, once(ctx, c, seat)
	}
	var list tripSteps
	seat := mrtr.AskQuestion(&list, "seat", text("seat"))
	mrtr.DoStep(&list, "book", func(_ context.Context, at *tripAt, idem string) (string, error) {
		return seat.Of(at), book(idem, seat.Of(at))
	})
	mrtr.AskQuestion(&list, "more", text("more"))
	list.End(ends("done"))
	return map[string]mrtr.Style[tripIn, tripOut]{
		"guarded": mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
			seat, ok := mrtr.Answer(c, text("seat"))
			if !ok {
				return mrtr.Need(text("seat")), tripOut{}, nil
			}
			err := once(ctx, c, seat)
			if _, ok := mrtr.Answer(c, text("more")); !ok {
				return mrtr.Need(text("more")), tripOut{}, nil
			}
			return nil, tripOut{}, err
		}),
		"steps":     mustBuild(t, &list),
		"journal":   mrtr.Journal(linear),
		"resumable": mrtr.Resumable(linear),
	}
}

// A user who goes back and takes another seat books another seat, also at a desk that
// honours idempotency keys. One who repeats the same answer repeats the same key.
func TestIdemDependsOnTheAnswersBeforeTheEffect(t *testing.T) {
	desk := map[string]string{} // the seat that each key has booked
	idems := []string{}
	styles := seatStyles(t, func(idem, seat string) error {
		idems = append(idems, idem)
		if _, known := desk[idem]; !known {
			desk[idem] = seat
		}
		return nil
	})
	require.Len(t, styles, 4)
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			idems = nil
			clear(desk)
			tool := serveTrip(t, style)
			asked := tool.begin()
			for _, seat := range []string{"1A", "20F", "1A"} {
				next := tool.answer(asked, seat)
				require.NoError(t, next.err)
				require.NoError(t, tool.answer(next, seat).err)
			}
			require.Len(t, idems, 3)
			require.Equal(t, idems[0], idems[2], "the same history, the same key")
			require.NotEqual(t, idems[0], idems[1])
			require.Equal(t, "1A", desk[idems[0]])
			require.Equal(t, "20F", desk[idems[1]])
			other := tool.begin()
			require.NoError(t, tool.answer(other, "1A").err)
			require.NotContains(t, idems[:3], idems[3], "another call")
		})
	}
}

// An attempt that is repeated after another question has the key of the first, unless
// the answers that it had have changed.
func TestIdemStaysAcrossAttempts(t *testing.T) {
	tries := 0
	var idems []string
	styles := seatStyles(t, func(idem, _ string) error {
		idems = append(idems, idem)
		if tries++; tries == 1 {
			return errors.New("connection reset")
		}
		return nil
	})
	for name, style := range styles {
		if name == "steps" {
			continue // a step that fails ends its call
		}
		t.Run(name, func(t *testing.T) {
			tries, idems = 0, nil
			tool := serveTrip(t, style)
			next := tool.answer(tool.begin(), "1A")
			require.Equal(t, []string{"more"}, next.asks)
			require.NoError(t, tool.answer(next, "yes").err)
			require.Len(t, idems, 2)
			require.Equal(t, idems[0], idems[1])
		})
	}
	t.Run("an answer that is replaced", func(t *testing.T) {
		var idems []string
		tool := serveTrip(t, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
			seat, ok := mrtr.Answer(c, text("seat"))
			if !ok {
				return mrtr.Need(text("seat")), tripOut{}, nil
			}
			_, err := mrtr.Once(ctx, c, "book", func(_ context.Context, idem string) (string, error) {
				idems = append(idems, idem)
				if seat == "1A" {
					return "", errors.New("taken")
				}
				return seat, nil
			})
			if err != nil {
				return mrtr.Need(text("seat")), tripOut{}, nil
			}
			return nil, tripOut{Plan: seat}, nil
		}))
		last := tool.answer(tool.answer(tool.begin(), "1A"), "20F")
		require.Equal(t, "20F", last.plan)
		require.Len(t, idems, 2)
		require.NotEqual(t, idems[0], idems[1])
	})
	t.Run("the order of a round does not matter", func(t *testing.T) {
		seen := map[string]bool{}
		rt := newTripRuntime(t, nil)
		mrtr.Unsigned(rt)
		tool := newTrip(rt, guardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, "book", func(_ context.Context, idem string) (string, error) {
				seen[idem] = true
				return "", nil
			})
		}), "")
		for _, done := range []string{
			`{"kind":"answer","key":"a","digest":"d","value":"1"},{"kind":"answer","key":"b","digest":"d","value":"2"}`,
			`{"kind":"answer","key":"b","digest":"d","value":"2"},{"kind":"answer","key":"a","digest":"d","value":"1"}`,
		} {
			last := tool.round(t.Context(), "", `{"v":1,"call":"mine","round":1,"done":[`+done+`]}`, mcp.InputResponseMap{})
			require.NoError(t, last.err)
		}
		require.Len(t, seen, 1)
	})
}

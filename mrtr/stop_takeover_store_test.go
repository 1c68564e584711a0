package mrtr_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// An instance that stops while it undoes a call, or just before, is taken over, and the
// call is undone once at most.
func TestOnStopRunsAtMostOnceOverATakeover(t *testing.T) {
	for _, row := range []struct {
		place string
		first int // times undone when the other instance has answered
	}{
		{effectBegun, 0}, {afterEffect, 1},
	} {
		for name, again := range map[string]mrtr.Interrupted{"journal": 0, "resumable": 0, "steps": 0, "native": mrtr.InterruptedAgain} {
			t.Run(name+", "+row.place, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					memory := store.NewMemory(nil)
					var did deeds
					var un deeds
					instances := [2]*instance{newInstance(memory, row.place), newInstance(memory, "")}
					var tools [2]*tripTool
					for n, i := range instances {
						rt := newTripRuntime(t, &mrtr.Options{Store: i, Observer: &i.events})
						tools[n] = &tripTool{handler: mrtr.Tool(rt, undoing(i, &did, &un)[name], &mrtr.HandlerOptions{Interrupted: again})}
					}
					asked := tools[0].begin()
					own := make(chan tripReply, 1)
					go func() { own <- tools[0].round(context.Background(), "", asked.state, declining(asked)) }()
					<-instances[0].stopped
					reply := tools[1].round(t.Context(), "", asked.state, declining(asked))
					ended(t, reply.err, mrtr.Declined)
					require.Equal(t, row.first, un.count("undone"))
					require.Len(t, instances[1].events.of(mrtr.RoundTakenOver), 1)
					instances[0].goOn()
					ended(t, (<-own).err, mrtr.Declined)
					require.Equal(t, 1, un.count("undone"))
				})
			})
		}
	}
}

// undoing is a handler in several styles that does something, asks, and undoes it.
func undoing(i *instance, did, un *deeds) map[string]mrtr.Style[tripIn, tripOut] {
	undo := func(context.Context, error) {
		i.reach(effectBegun)
		un.note("undone")
		i.reach(afterEffect)
	}
	linear := func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		if _, err := mrtr.Once(ctx, c, "reserve", did.do("reserve")); err != nil {
			return tripOut{}, err
		}
		c.OnStop(undo)
		_, err := mrtr.Ask(ctx, c, text("q"))
		return tripOut{}, err
	}
	var list tripSteps
	mrtr.DoStep(&list, "reserve", func(ctx context.Context, _ *tripAt, idem string) (string, error) { return did.do("reserve")(ctx, idem) })
	mrtr.AskQuestion(&list, "q", text("q"))
	list.OnStop(func(ctx context.Context, _ *tripAt, err error) { undo(ctx, err) })
	list.End(func(context.Context, *tripAt) (tripOut, error) { return tripOut{}, nil })
	return map[string]mrtr.Style[tripIn, tripOut]{
		"journal": mrtr.Journal(linear), "resumable": mrtr.Resumable(linear), "steps": list.MustBuild(),
		"native": mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
			if _, err := mrtr.Once(ctx, c, "reserve", did.do("reserve")); err != nil {
				return nil, tripOut{}, err
			}
			c.OnStop(undo)
			if _, ok := mrtr.Answer(c, text("q")); !ok {
				return mrtr.Need(text("q")), tripOut{}, nil
			}
			return nil, tripOut{}, nil
		}),
	}
}

// Package misplacedask asks on goroutines of its own, and on the handler's.
package misplacedask

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

var (
	place = mrtr.Elicit[string]("place", "Which place?")
	units = mrtr.Elicit[string]("units", "Which units?")
)

func inGo(ctx context.Context, c *mrtr.Call, _ struct{}) (string, error) {
	answers := make(chan string, 1)
	go func() { // want `the goroutine started here asks on line \d+`
		got, err := linear.Ask(ctx, c, place)
		answers <- fmt.Sprint(got, err)
	}()
	return <-answers, nil
}

func inGoDirectly(ctx context.Context, c *mrtr.Call) {
	go linear.AskAll(ctx, c, place, units) // want `linear.AskAll on a goroutine of its own asks nothing`
	go askBoth(ctx, c)                     // want `the goroutine started here asks on line \d+`
}

func askBoth(ctx context.Context, c *mrtr.Call) error { return linear.AskAll(ctx, c, place, units) }

func inGroup(ctx context.Context, c *mrtr.Call) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, q := range []mrtr.Question[string]{place, units} {
		g.Go(func() error { // want `the goroutine started here asks`
			_, err := linear.Ask(ctx, c, q)
			return err
		})
	}
	ask := func() error { return askBoth(ctx, c) }
	g.TryGo(ask) // want `the goroutine started here asks`
	return g.Wait()
}

func inWaitGroup(ctx context.Context, c *mrtr.Call) {
	var wg sync.WaitGroup
	wg.Go(func() { _ = askBoth(ctx, c) }) // want `the goroutine started here asks`
	wg.Wait()
}

func later(ctx context.Context, c *mrtr.Call) {
	time.AfterFunc(time.Minute, func() { _ = askBoth(ctx, c) }) // want `the goroutine started here asks`
	context.AfterFunc(ctx, func() { _ = askBoth(ctx, c) })      // want `the goroutine started here asks`
}

func inEffect(ctx context.Context, c *mrtr.Call) (string, error) {
	return mrtr.Once(ctx, c, "book", func(ctx context.Context, _ string) (string, error) { // want `the effect asks on line \d+`
		return linear.Ask(ctx, c, place)
	})
}

// From here on the handler's goroutine asks.

// The function is made on the goroutine, not called there.
func makesHandlers(handlers chan<- mrtr.Style[struct{}, string]) {
	go func() {
		handlers <- linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ struct{}) (string, error) {
			return linear.Ask(ctx, c, place)
		})
	}()
}

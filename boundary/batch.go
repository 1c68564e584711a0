package boundary

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
)

// A Batch holds the outcomes of the items of one call, in the items' order.
type Batch[Out any] struct {
	Summary string           `json:"summary"` // such as "2 of 5 failed"
	Items   []BatchItem[Out] `json:"items"`
}

// A BatchItem is the outcome of one item: Value or Error is set.
type BatchItem[Out any] struct {
	ID    string     `json:"id"`
	Value *Out       `json:"value,omitempty"`
	Error *ItemError `json:"error,omitempty"`
}

// An ItemError is the public part of an item's error.
type ItemError struct {
	Type     string   `json:"type"`
	Text     string   `json:"text"`
	Expected bool     `json:"expected"`
	Hints    []string `json:"hints,omitempty"`

	err    error
	effect string
}

// BatchOptions configure [Each]. A nil *BatchOptions is the zero value.
type BatchOptions struct {
	// Parallel is how many items run at once. Zero means one. A negative value is a
	// [*UsageError].
	Parallel int
}

// Each calls f for every item, and goes on after errors. id names an item, so that
// an agent can repeat those that failed and leave the others alone: repeating the
// whole call would repeat the effects of all. It should be the
// client's own name of the item.
//
// A panic in f, and runtime.Goexit, fail their item alone. Once ctx has ended, the
// items that have not begun fail with its error. Each returns when every f that has
// begun has returned. A fault of an item is logged with its cause and the item's
// position, since the batch shows only the public part.
//
// The error is nil if any item succeeded or there are no items: partial success is
// a result, and the batch says which items failed. If all failed it is a
// [*BatchError].
func Each[In, Out any](ctx context.Context, items []In, id func(In) string, f func(context.Context, In) (Out, error), opts *BatchOptions) (Batch[Out], error) {
	parallel := 1
	if opts != nil && opts.Parallel != 0 {
		parallel = opts.Parallel
	}
	if parallel < 0 {
		return Batch[Out]{}, misuse("BatchOptions.Parallel is %d, must not be negative", parallel)
	}
	c := callFrom(ctx)
	ended := make([]outcome[Out], len(items))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(parallel, len(items)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(items); i = int(next.Add(1)) - 1 {
				if err := ctx.Err(); err != nil {
					ended[i].err = err
					continue
				}
				ended[i] = alone(ctx, c, func(ctx context.Context, _ *call) (Out, error) { return f(ctx, items[i]) })
			}
		})
	}
	workers.Wait()

	batch := Batch[Out]{Items: make([]BatchItem[Out], len(items))}
	failed := &BatchError{}
	for i, item := range items {
		outcome := BatchItem[Out]{ID: id(item)}
		if failure := failureOfItem(ctx, c, ended[i].err, ended[i].failed); failure != nil {
			outcome.Error = publicPart(failure)
			failed.Items = append(failed.Items, outcome.Error)
			failed.ids = append(failed.ids, outcome.ID)
			c.logItem(ctx, i, failure)
		} else {
			outcome.Value = &ended[i].res
		}
		batch.Items[i] = outcome
	}
	batch.Summary = fmt.Sprintf("%d of %d failed", len(failed.Items), len(items))
	if len(items) == 0 || len(failed.Items) < len(items) {
		return batch, nil
	}
	return batch, failed
}

// failureOfItem is nil for an item that succeeded.
func failureOfItem(ctx context.Context, c *call, err error, panicked *failure) *failure {
	switch {
	case panicked != nil:
		panicked.err = errors.New(panicked.cause)
		return panicked
	case err == nil:
		return nil
	case c == nil:
		c = &call{}
	}
	return failureOf(ctx, c, err)
}

func publicPart(f *failure) *ItemError {
	f.bound()
	return &ItemError{Type: f.kind, Text: truncated(f.text, maxReportedText), Expected: f.expected, Hints: f.hints, err: f.err, effect: f.effect}
}

// logItem logs the fault of one item. c is nil outside a boundary.
func (c *call) logItem(ctx context.Context, item int, f *failure) {
	if c == nil || c.sink == nil || f.expected {
		return
	}
	attrs := []slog.Attr{
		slog.String(c.kind.attr, c.loggedTool()), slog.String("requestId", c.requestID), slog.Int("item", item),
		slog.String("type", f.kind), slog.String("cause", truncated(f.cause, maxLoggedText)),
	}
	if len(f.stack) > 0 {
		attrs = append(attrs, slog.String("stack", string(f.stack)))
	}
	c.sink.log(ctx, slog.LevelError, c.kind.attr+" item failed", attrs...)
}

// A BatchError reports that every item of a batch failed. It is expected if all of
// the items' errors are.
type BatchError struct {
	Items []*ItemError
	ids   []string
}

const maxItemTexts = 10

func (e *BatchError) Error() string {
	text := fmt.Sprintf("All %d items failed.", len(e.Items))
	for i, item := range e.Items[:min(len(e.Items), maxItemTexts)] {
		text += "\n" + e.ids[i] + ": " + item.Text
	}
	if more := len(e.Items) - maxItemTexts; more > 0 {
		text += fmt.Sprintf("\nand %d more.", more)
	}
	return text
}

func (e *BatchError) Unwrap() error {
	var all []error
	for _, item := range e.Items {
		all = append(all, item.err)
	}
	return errors.Join(all...)
}

func (e *BatchError) ToolErrorType() string { return "batch" }

// A single item does not speak for the others: these methods keep those of its
// error from being found.

func (e *BatchError) ToolErrorCode() string                 { return "" }
func (e *BatchError) ToolErrorQuiet() bool                  { return false }
func (e *BatchError) ToolErrorOperation() string            { return "" }
func (e *BatchError) ToolErrorSelector() (string, []string) { return "", nil }
func (e *BatchError) ToolErrorFields() map[string][]string  { return nil }

// ToolErrorEffect is "unknown" if the effect of any item is, else "applied" if that
// of any item is.
func (e *BatchError) ToolErrorEffect() string {
	all := ""
	for _, item := range e.Items {
		if item.effect == effectUnknown || all == "" {
			all = item.effect
		}
	}
	return all
}

func (e *BatchError) ToolErrorExpected() bool {
	return len(e.Items) > 0 && !slices.ContainsFunc(e.Items, func(item *ItemError) bool { return !item.Expected })
}

// ToolErrorHints returns the items' hints without repetition.
func (e *BatchError) ToolErrorHints() []string {
	var hints []string
	for _, item := range e.Items {
		for _, hint := range item.Hints {
			if len(hints) < maxItemTexts && !slices.Contains(hints, hint) {
				hints = append(hints, hint)
			}
		}
	}
	return hints
}

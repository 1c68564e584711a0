package boundary

import (
	"context"
	"errors"
	"fmt"
)

// A Batch holds the outcomes of the items of one call, in the items' order.
type Batch[Out any] struct {
	Items []BatchItem[Out] `json:"items"`
}

// A BatchItem is the outcome of one item: Value or Error is set.
type BatchItem[Out any] struct {
	Index int        `json:"index"`
	Value *Out       `json:"value,omitempty"`
	Error *ItemError `json:"error,omitempty"`
}

// An ItemError is the public part of an item's error.
type ItemError struct {
	Type     string   `json:"type"`
	Text     string   `json:"text"`
	Expected bool     `json:"expected"`
	Hints    []string `json:"hints,omitempty"`

	err error
}

// Each calls f for every item, one after the other, and continues after errors.
// Once ctx has ended, the remaining items fail with its error.
//
// The error is nil if any item succeeded or there are no items: partial success is
// a result, and the batch says which items failed. If all failed it is a
// [*BatchError].
func Each[In, Out any](ctx context.Context, items []In, f func(context.Context, In) (Out, error)) (Batch[Out], error) {
	batch := Batch[Out]{Items: make([]BatchItem[Out], 0, len(items))}
	var failed []*ItemError
	for i, item := range items {
		out, err := *new(Out), ctx.Err()
		if err == nil {
			out, err = f(ctx, item)
		}
		if err == nil {
			batch.Items = append(batch.Items, BatchItem[Out]{Index: i, Value: &out})
			continue
		}
		e := itemError(ctx, err)
		failed = append(failed, e)
		batch.Items = append(batch.Items, BatchItem[Out]{Index: i, Error: e})
	}
	if len(items) == 0 || len(failed) < len(items) {
		return batch, nil
	}
	return batch, &BatchError{Items: failed}
}

func itemError(ctx context.Context, err error) *ItemError {
	c := callFrom(ctx)
	if c == nil {
		c = &call{}
	}
	p := failureOf(ctx, c, err)
	return &ItemError{Type: p.kind, Text: p.text, Expected: p.expected, Hints: p.hints, err: err}
}

// A BatchError reports that every item of a batch failed. It is expected if all of
// the items' errors are.
type BatchError struct {
	Items []*ItemError
}

const maxItemTexts = 10

func (e *BatchError) Error() string {
	text := fmt.Sprintf("All %d items failed.", len(e.Items))
	for i, item := range e.Items[:min(len(e.Items), maxItemTexts)] {
		text += fmt.Sprintf("\n%d: %s", i, item.Text)
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

func (e *BatchError) ToolErrorExpected() bool {
	for _, item := range e.Items {
		if !item.Expected {
			return false
		}
	}
	return len(e.Items) > 0
}

// ToolErrorHints returns the items' hints without repetition.
func (e *BatchError) ToolErrorHints() []string {
	var hints []string
	seen := map[string]bool{}
	for _, item := range e.Items {
		for _, hint := range item.Hints {
			if !seen[hint] && len(hints) < maxItemTexts {
				seen[hint] = true
				hints = append(hints, hint)
			}
		}
	}
	return hints
}

//go:build unix

package killed

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// Receipt is the value of the effect.
type Receipt struct {
	Order string `json:"order"`
	Idem  string `json:"idem"`
}

// Till is the system that takes the money. It takes it as often as it is told to,
// so that a second payment shows.
type Till struct {
	path string
	trap *trap
	slow time.Duration
	// remembered: the rounds are, in a store.
	remembered bool
	hook       func() // runs when the effect has happened
}

// Pay takes money: it appends a line to a file.
func (t *Till) Pay(ctx context.Context, order, idem string) (Receipt, error) {
	t.Begins()
	time.Sleep(t.slow / 2) // the system is slow and heeds no context
	if err := t.enter(order, idem); err != nil {
		return Receipt{}, err
	}
	time.Sleep(t.slow / 2) // and so is its answer: a kill hits an effect before and after it
	t.Happened()
	return Receipt{order, idem}, nil
}

// Begins says that the effect is about to happen. An effect that is not Pay
// calls it itself, and Happened.
func (t *Till) Begins() { t.trap.begins() }

// Happened says that the effect has happened.
func (t *Till) Happened() {
	t.trap.pass(AfterEffect)
	if t.hook != nil {
		t.hook()
	}
}

// Records says that the next write is the effect's record, for a handler that has
// nowhere to say [Till.Leaves].
func (t *Till) Records() { t.trap.records() }

// Leaves says that the handler is about to return.
func (t *Till) Leaves() { t.trap.leaves(t.remembered) }

func (t *Till) enter(order, idem string) error {
	file, err := os.OpenFile(t.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "%s %s\n", order, idem); err != nil {
		return err
	}
	return file.Sync()
}

// Find looks a payment up by its idempotency key. It is false for one that did not
// happen.
func (t *Till) Find(_ context.Context, idem string) (Receipt, bool, error) {
	paid, err := readPayments(t.path)
	if err != nil {
		return Receipt{}, false, err
	}
	for _, p := range paid {
		if p.Idem == idem {
			return p, true, nil
		}
	}
	return Receipt{}, false, nil
}

func readPayments(path string) ([]Receipt, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var paid []Receipt
	for line := range strings.Lines(string(text)) {
		order, idem, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok {
			return nil, fmt.Errorf("%q is no payment", line)
		}
		paid = append(paid, Receipt{order, idem})
	}
	return paid, nil
}

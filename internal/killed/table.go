//go:build unix

package killed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/statecodec"
)

const (
	// lease is short, as every doubtful cell waits for its end.
	lease = 2 * time.Second
	// atOnce is how many cells are played at the same time.
	atOnce = 6
	// patience bounds one cell.
	patience = 90 * time.Second
)

// Where returns the address of the backend for one call.
type Where func() string

// At is one address for all calls.
func At(address string) Where { return func() string { return address } }

// Table kills a process at each of the points, in each of the rows, and returns the
// lines of the table: how often the effect happened, and the answer of the next
// process to the same request.
func Table(t *testing.T, where Where, rows []Row, points []Point) []string {
	t.Helper()
	return table(t, where, rows, points, (*cell).killed)
}

func table(t *testing.T, where Where, rows []Row, points []Point, play func(*cell, context.Context, Point) (string, error)) []string {
	t.Helper()
	require.NotEmpty(t, rows)
	require.NotEmpty(t, points)
	cells := make([][]string, len(rows))
	errs := make([][]error, len(rows))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, row := range rows {
		cells[i] = make([]string, len(points))
		errs[i] = make([]error, len(points))
		for k, point := range points {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				var err error
				if cells[i][k], err = play(newCell(t, where, row), ctx, point); err != nil {
					errs[i][k] = fmt.Errorf("%s, %s: %w", row.Name, point, err)
				}
			})
		}
	}
	wg.Wait()
	require.NoError(t, errors.Join(slices.Concat(errs...)...))
	var lines []string
	for i, row := range rows {
		lines = append(lines, "| "+row.Name+" | "+strings.Join(cells[i], " | ")+" |")
	}
	return lines
}

// CheckDocs requires that each line stands in the page, and logs the table.
func CheckDocs(t *testing.T, page string, lines []string) {
	t.Helper()
	t.Logf("the table:\n%s", strings.Join(lines, "\n"))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	stated := strings.Split(string(text), "\n")
	for _, line := range lines {
		require.Containsf(t, stated, line, "%s does not say this", page)
	}
}

// cell is one call, with a till of its own.
type cell struct {
	job   job
	row   Row
	order string
}

func newCell(t *testing.T, where Where, row Row) *cell {
	return &cell{row: row, order: rand.Text(), job: job{
		Where: where(), Till: filepath.Join(t.TempDir(), "payments"), Key: newKey(), Row: row.Name, Lease: lease,
	}}
}

// asked starts the two processes of a call, of which the first asks the question and
// has a job of its own. The request answers the question.
func (c *cell) asked(ctx context.Context, of job) (first, next *process, request wire.Request, err error) {
	if first, err = start(ctx, of); err != nil {
		return nil, nil, request, err
	}
	if next, err = start(ctx, c.job); err != nil {
		first.end()
		return nil, nil, request, err
	}
	if request, err = first.Ask(ctx, c.order); err != nil {
		first.end()
		next.end()
	}
	return first, next, request, err
}

// killed plays a call whose server is killed at a point.
func (c *cell) killed(ctx context.Context, point Point) (string, error) {
	trapped := c.job
	trapped.Point = point
	first, next, request, err := c.asked(ctx, trapped)
	if err != nil {
		return "", err
	}
	defer first.end()
	defer next.end()
	a, err := first.Settle(ctx, request)
	if err == nil {
		// It has no such point, and so was not killed.
		if a.Class != "ok" {
			return "", fmt.Errorf("nothing happened to it, and it answered %v", a)
		}
		return "n/a", c.paidAtMost(ctx, 1)
	}
	if err := first.died(err); err != nil {
		return "", err
	}
	a, err = next.Settle(ctx, request)
	if err != nil {
		return "", err
	}
	return c.say(ctx, a)
}

// say counts the effects beside an answer.
func (c *cell) say(ctx context.Context, a Answer) (string, error) {
	paid, err := c.paid(ctx)
	if err != nil {
		return "", err
	}
	if a.Class == "ok" && !slices.Contains(paid, a.Receipt) {
		return "", fmt.Errorf("the receipt %v is for no payment: %v", a.Receipt, paid)
	}
	switch len(paid) {
	case 0, 1:
		return fmt.Sprintf("%d %s", len(paid), a.Class), nil
	}
	if !c.row.Twice {
		return "", fmt.Errorf("paid more than once: %v", paid)
	}
	for _, p := range paid {
		if p != paid[0] {
			return "", fmt.Errorf("paid with other keys: %v", paid)
		}
	}
	return fmt.Sprintf("**%d** %s, same idem", len(paid), a.Class), nil
}

func (c *cell) paid(ctx context.Context) ([]Receipt, error) {
	if c.row.Paid == nil {
		return readPayments(c.job.Till)
	}
	return c.row.Paid(ctx, c.job.Where, c.order)
}

func (c *cell) paidAtMost(ctx context.Context, n int) error {
	paid, err := c.paid(ctx)
	if err == nil && len(paid) > n {
		err = fmt.Errorf("paid %d times: %v", len(paid), paid)
	}
	return err
}

func newKey() string { return statecodec.GenerateKey().Text() }

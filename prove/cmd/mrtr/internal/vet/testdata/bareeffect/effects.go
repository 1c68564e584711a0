// Package bareeffect has effects above its questions, bare and in Once.
package bareeffect

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

var (
	place = mrtr.Elicit[string]("place", "Which place?")
	units = mrtr.Elicit[string]("units", "Which units?")
)

type (
	call = *mrtr.Call
	none = struct{}
)

func styles(d *desk) []mrtr.Style[none, string] {
	h := variable
	return []mrtr.Style[none, string]{
		linear.Journal(between), linear.Resumable(above), linear.Journal(d.handler),
		linear.Journal(h), linear.Journal(viaHelpers), linear.Journal(inLoops), linear.Journal(concurrent),
		linear.Journal(overMaps), linear.Journal(deferred), linear.Resumable(safe), linear.Journal(quiet),
		linear.Coroutine(held), mrtr.Native(aboveGuard),
		linear.Journal(func(ctx context.Context, c call, _ none) (string, error) {
			fmt.Println("literal") // want `fmt.Println is called above a question`
			return linear.Ask(ctx, c, place)
		}),
	}
}

type desk struct {
	db     *sql.DB
	client *http.Client
}

func between(ctx context.Context, c call, _ none) (string, error) {
	where, err := linear.Ask(ctx, c, place)
	if err != nil {
		log.Println("nobody asked", err) // nothing is asked below
		return "", err
	}
	os.WriteFile("audit", []byte(where), 0o600) // want `os.WriteFile is called above a question of journaled code`
	return linear.Ask(ctx, c, units)
}

func above(ctx context.Context, c call, _ none) (string, error) {
	start := time.Now()                      // want `time.Now is called above a question`
	id := uuid.NewString()                   // want `uuid.NewString is called`
	n := mathrand.IntN(6)                    // want `v2.IntN is called`
	token := rand.Text()                     // want `rand.Text is called`
	fmt.Fprintln(os.Stderr, id, n, token)    // want `fmt.Fprintln is called`
	log.Printf("asking")                     // want `log.Printf is called`
	slog.InfoContext(ctx, "asking")          // want `slog.InfoContext is called`
	slog.Default().Info("asking")            // want `slog.Logger.Info is called`
	_ = exec.CommandContext(ctx, "ls").Run() // want `exec.Cmd.Run is called`
	if _, err := linear.Ask(ctx, c, place); err != nil {
		return "", err
	}
	return time.Since(start).String(), nil // below the last question
}

func (d *desk) handler(ctx context.Context, c call, _ none) (string, error) {
	if _, err := d.db.ExecContext(ctx, "UPDATE seats"); err != nil { // want `sql.DB.ExecContext is called`
		return "", err
	}
	rows, err := d.db.Query("SELECT 1") // want `sql.DB.Query is called`
	if err != nil {
		return "", err
	}
	defer rows.Close()
	res, err := http.Get("http://example.com") // want `http.Get is called`
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if _, err := d.client.Do(nil); err != nil { // want `http.Client.Do is called`
		return "", err
	}
	if err := linear.AskAll(ctx, c, place, units); err != nil {
		return "", err
	}
	d.client.Do(nil)
	return "", nil
}

var variable func(context.Context, call, none) (string, error) = func(ctx context.Context, c call, _ none) (string, error) {
	fmt.Print() // want `fmt.Print is called`
	return linear.Ask(ctx, c, place)
}

func viaHelpers(ctx context.Context, c call, _ none) (string, error) {
	record("began")
	if err := askPlace(ctx, c); err != nil {
		return "", err
	}
	note := func() { os.Remove("draft") } // want `os.Remove is called`
	note()
	if err := askPlace(ctx, c); err != nil {
		return "", err
	}
	recordLast("done")
	return "", nil
}

func record(what string) { os.WriteFile(what, nil, 0o600) } // want `os.WriteFile is called`

func recordLast(what string) { os.WriteFile(what, nil, 0o600) }

func askPlace(ctx context.Context, c call) error {
	_, err := linear.Ask(ctx, c, place)
	log.Print("asked") // want `log.Print is called`
	return err
}

func inLoops(ctx context.Context, c call, _ none) (string, error) {
	for range 3 {
		if _, err := linear.Ask(ctx, c, place); err != nil {
			return "", err
		}
		fmt.Println("again") // want `fmt.Println is called`
	}
	for x := range slices.Values([]int{1}) {
		fmt.Println(x) // want `fmt.Println is called`
	}
	return linear.Ask(ctx, c, units)
}

func concurrent(ctx context.Context, c call, _ none) (string, error) {
	a, b := make(chan int, 1), make(chan int, 1)
	go func() { // want `a goroutine is started above a question`
		fmt.Println("what it does is not said twice")
		a <- 1
	}()
	select { // want `a select chooses among channels above a question`
	case <-a:
	case <-b:
	}
	select { // want `a select chooses among channels`
	case <-b:
	default:
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-a:
	}
	return linear.Ask(ctx, c, place)
}

func overMaps(ctx context.Context, c call, _ none) (string, error) {
	prices := map[string]int{"a": 1, "b": 2}
	for name := range prices { // want `a question inside a loop over a map`
		if _, err := linear.Ask(ctx, c, mrtr.Confirm(name, "Take it?")); err != nil {
			return "", err
		}
	}
	for name := range maps.Keys(prices) { // want `a question inside a loop over a map`
		if _, err := linear.Ask(ctx, c, mrtr.Confirm(name, "Take it?")); err != nil {
			return "", err
		}
	}
	for name, price := range prices { // one is looked for, in whatever order
		if price == 0 {
			return linear.Ask(ctx, c, mrtr.Elicit[string](name, "What does it cost?"))
		}
	}
	total := 0
	for _, price := range prices {
		total += price
	}
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		if _, err := linear.Ask(ctx, c, mrtr.Confirm(name, "Take it?")); err != nil {
			return "", err
		}
	}
	return fmt.Sprint(total), nil
}

func deferred(ctx context.Context, c call, _ none) (string, error) {
	defer fmt.Println("done") // want `fmt.Println is called`
	defer func() {
		log.Print("done") // want `log.Print is called`
	}()
	return linear.Ask(ctx, c, place)
}

func aboveGuard(ctx context.Context, c call, _ none) (*mrtr.IncompleteResult, string, error) {
	record("began")
	where, ok := mrtr.Answer(c, place)
	if !ok {
		log.Print("asks") // it does no harm that this is written twice
		return mrtr.Need(place), "", nil
	}
	os.Rename("draft", where) // want `os.Rename is called above a guard: it happens again in each round`
	if f, err := os.OpenFile("ledger", os.O_APPEND|os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(f, where) // want `fmt.Fprintln is called above a guard: it happens again in each round`
	}
	fmt.Fprintln(os.Stderr, where)
	if _, ok := mrtr.Answer(c, units); !ok {
		return mrtr.Need(units), "", nil
	}
	os.Rename(where, "done")
	return nil, where, nil
}

// From here on nothing happens twice.

func safe(ctx context.Context, c call, _ none) (string, error) {
	where, err := linear.Ask(ctx, c, place)
	if err != nil {
		return "", err
	}
	at, err := mrtr.Once(ctx, c, "audit", func(ctx context.Context, idem string) (time.Time, error) {
		log.Print("audit")
		return time.Now(), os.WriteFile(idem, []byte(where), 0o600)
	})
	if err != nil {
		return "", err
	}
	if _, err := mrtr.Once(ctx, c, "named", saved); err != nil {
		return "", err
	}
	if _, err := linear.Ask(ctx, c, units); err != nil {
		return "", err
	}
	fmt.Println("below the last question", at)
	return where, nil
}

func saved(context.Context, string) (bool, error) { return true, os.WriteFile("x", nil, 0o600) }

func quiet(ctx context.Context, c call, _ none) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", 1)
	fmt.Fprintf(io.Discard, "%d", 1)
	seeded := mathrand.New(mathrand.NewPCG(1, 2))
	names := strings.Fields(b.String() + fmt.Sprint(seeded.IntN(6)) + time.Unix(0, 0).String())
	slices.Sort(names)
	return linear.Ask(ctx, c, place)
}

// A frame is held where it asks: its first line runs once.
func held(ctx context.Context, c call, _ none) (string, error) {
	fmt.Println("once")
	return linear.Ask(ctx, c, place)
}

// Effects that leave the package.

type payer interface {
	Charge(ctx context.Context, cents int) error
	Balance(ctx context.Context) (int, error)
}

type shop struct {
	payer  payer
	notify func(ctx context.Context, text string) error
}

func (s *shop) through(ctx context.Context, c call, _ none) (*mrtr.IncompleteResult, string, error) {
	if _, err := s.payer.Balance(ctx); err != nil {
		return nil, "", err
	}
	if err := s.payer.Charge(ctx, 5); err != nil { // want `Charge is called above a guard`
		return nil, "", err
	}
	s.notify(ctx, "charged") // want `notify is called above a guard`
	where, ok := mrtr.Answer(c, place)
	if !ok {
		return mrtr.Need(place), "", nil
	}
	return nil, where, s.payer.Charge(ctx, 7)
}

var _ = func(s *shop) any { return mrtr.Native(s.through) }

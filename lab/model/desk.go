package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// The time that an effect has, and that a round has with a store.
const (
	effectTime = time.Second
	roundTime  = 12 * time.Second
)

// mood is how the desk behind all effects treats them.
type mood string

const (
	serving  mood = "serves"
	refusing mood = "refuses"
	busy     mood = "is busy"
	breaking mood = "serves, and breaks off"
	losing   mood = "breaks off before it serves"
	unsure   mood = "serves, and does not know"
	hanging  mood = "does not answer"
	panicked mood = "serves, and makes its caller panic"
)

// pays: the effect happens.
func (m mood) pays() bool {
	return m == serving || m == breaking || m == unsure || m == panicked
}

// doubtful: its caller cannot tell.
func (m mood) doubtful() bool { return m != serving && m != refusing && m != busy }

// errBusy is an error after which the same request may be sent again.
type errBusy struct{}

func (errBusy) Error() string            { return "the desk is busy" }
func (errBusy) ToolErrorRetryable() bool { return true }

// desk has the effects of all tools, and keeps a record of them.
type desk struct {
	mu       sync.Mutex
	mood     mood
	incident *incident
	runs     []run
	undone   []string // the calls whose effect was undone, as the engine names them
}

// run is an effect that was attempted.
type run struct {
	request string // the request in whose round it happened, "" if another instance ran it
	call    string // as the engine names it
	key     string
	idem    string // "" in a style that has none
	failed  bool
	paid    bool
	value   int // tells this run from every other
}

// incident is something that happens to the nth effect of a request.
type incident struct {
	what  action
	nth   int
	after bool // it has happened then, unless the desk refuses it
	do    func()
	here  bool
	// hangUp ends the request's context, as a client that leaves does.
	hangUp context.CancelFunc
}

// hangsUp lets the client of the request of an incident leave.
func (d *desk) hangsUp(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		d.mu.Lock()
		if in := d.incident; in != nil && in.hangUp == nil && method == "tools/call" {
			in.hangUp = cancel
		}
		d.mu.Unlock()
		return next(ctx, method, req)
	}
}

// door is an instance's way to the desk.
type door struct {
	*desk
	link *link
}

var errDeskClosed = errors.New("the desk is closed")

func (d *door) serve(ctx context.Context, c *mrtr.Call, key, idem string) (int, error) {
	in := d.reach()
	if in != nil && !in.after {
		in.happen()
	}
	switch {
	case d.link.cut.Load():
		return 0, fleet.ErrCut
	case idem != "" && ctx.Err() != nil: // its client must not have cut it
		return 0, ctx.Err()
	}
	if in != nil && in.after {
		defer in.happen()
	}
	return d.pay(ctx, c, key, idem)
}

// happen makes room for all that follows from the incident.
func (in *incident) happen() {
	if in.do != nil {
		in.do()
		time.Sleep(effectTime / 10)
	}
}

// reach returns the incident that happens to this effect, nil if there is none.
func (d *desk) reach() *incident {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.incident == nil {
		return nil
	}
	if d.incident.nth--; d.incident.nth != 0 {
		return nil
	}
	d.incident.here = true
	return d.incident
}

// stall keeps a handler from going on until its time is up.
func (d *desk) stall(ctx context.Context) error {
	d.mu.Lock()
	stalls := d.incident != nil && d.incident.what == stalls && d.incident.here
	d.mu.Unlock()
	if stalls {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (d *desk) pay(ctx context.Context, c *mrtr.Call, key, idem string) (int, error) {
	tag, _ := c.Request().GetParams().GetMeta()[requestTag].(string)
	d.mu.Lock()
	m := d.mood
	r := run{request: tag, call: c.ID(), key: key, idem: idem, failed: m != serving, paid: m.pays(), value: len(d.runs) + 1}
	d.runs = append(d.runs, r)
	d.mu.Unlock()
	switch m {
	case refusing:
		return 0, errDeskClosed
	case busy:
		return 0, errBusy{}
	case breaking:
		return 0, io.EOF
	case losing:
		return 0, io.ErrUnexpectedEOF
	case unsure:
		return 0, mrtr.ErrIndeterminate
	case hanging:
		if idem == "" { // nothing bounds it
			return 0, errDeskClosed
		}
		<-ctx.Done()
		return 0, ctx.Err()
	case panicked:
		panic("the desk went away")
	}
	return r.value, nil
}

// find is the Check of an effect.
func (d *desk) find(_ context.Context, idem string) (int, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.runs {
		if r.idem == idem && r.paid {
			return r.value, true, nil
		}
	}
	return 0, false, nil
}

func (d *door) undo(_ context.Context, c *mrtr.Call, u mrtr.Undo[int]) error {
	if d.link.cut.Load() {
		return fleet.ErrCut
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.undone = append(d.undone, c.ID())
	return nil
}

func (d *desk) feel(m mood) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mood = m
}

func (d *desk) expect(in *incident) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.incident = in
}

// link is an instance's way to the store, on which writes take their time: whoever reads
// meanwhile sees the record before it. It is cut when the instance dies.
type link struct{ cut atomic.Bool }

// way is how long a write is on its way.
const way = time.Millisecond

func (l *link) to(s store.Store) store.Store {
	return fleet.Tapped{Store: s, Around: func(_ context.Context, op fleet.Operation, run, _ func() error) error {
		switch {
		case op == fleet.Epoch:
		case l.cut.Load():
			return fleet.ErrCut
		case op != fleet.Get:
			time.Sleep(way)
		}
		return run()
	}}
}

// ledger is where the desk's records are at one moment.
type ledger struct{ runs, undone int }

func (d *desk) count() ledger {
	d.mu.Lock()
	defer d.mu.Unlock()
	return ledger{len(d.runs), len(d.undone)}
}

// since are the runs after a moment, and the calls that were undone.
func (d *desk) since(l ledger) (runs []run, undone []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[l.runs:], d.undone[l.undone:]
}

// told is the text of a result: one word an item, in the order of the plan.
type told []string

func (t told) String() string {
	words := make([]string, 0, len(t))
	for _, w := range t {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

func (t told) answer(i int, key, read string) {
	if t[i] != "" {
		t[i] += " "
	}
	t[i] += key + "=" + read
}

func (t told) effect(i int, key string, value int) { t[i] = fmt.Sprintf("%s#%d", key, value) }

func (t told) failed(i int, key string) { t[i] = key + "#failed" }

func (t told) happened(i int) bool { return t[i] != "" && !strings.HasSuffix(t[i], "#failed") }

// quits reports whether the handler ends its call at an item.
func (t told) quits(it item) bool {
	return it.quits != "" && strings.Contains(t.String(), it.quits+"=false")
}

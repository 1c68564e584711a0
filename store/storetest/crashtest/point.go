//go:build unix

package crashtest

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Point is a place in the round that pays.
type Point string

// The points, in the order in which a round passes them.
const (
	BeforeClaim Point = "before claim"
	AfterClaim  Point = "after claim"
	Started     Point = "effect noted as started"
	AfterEffect Point = "after the effect"
	AfterRecord Point = "after its record"
	AfterResult Point = "after the result"
)

// Points are those of the table of kills.
var Points = []Point{BeforeClaim, AfterClaim, Started, AfterEffect, AfterRecord, AfterResult}

// trap ends or stops this process at a point, once.
type trap struct {
	point  Point
	signal syscall.Signal
	// busy is held by each operation of the store.
	busy sync.RWMutex

	// mu guards the fields below. The store's taps write them, and the tool's.
	mu     sync.Mutex
	sprung bool
	passed Point         // BeforeClaim, AfterClaim, Started (the effect runs), AfterEffect
	notes  bool          // the style notes its effects
	record chan struct{} // closed by the next Update, which carries the effect's end
}

// at springs the trap if this is its point.
func (t *trap) at(p Point) {
	t.mu.Lock()
	springs := t.point == p && !t.sprung
	t.sprung = t.sprung || springs
	t.mu.Unlock()
	if !springs {
		return
	}
	if t.signal == syscall.SIGSTOP {
		standStill()
		return
	}
	//mrtr:allow bareeffect a killed process does it once
	_ = syscall.Kill(os.Getpid(), t.signal)
	select {} // the signal is on its way
}

// standStill stops this process until somebody wakes it. A stop takes a while to reach all
// threads, and the caller goes on at none of them before.
func standStill() {
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	defer signal.Stop(woken)
	//mrtr:allow bareeffect a killed process does it once
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-woken
}

// pass notes how far the round is.
func (t *trap) pass(p Point) {
	t.mu.Lock()
	t.passed = p
	t.mu.Unlock()
	t.at(p)
}

// wrote springs the trap after an Update. The first one after a claim notes the effect as
// started.
func (t *trap) wrote() {
	t.mu.Lock()
	passed, record := t.passed, t.record
	t.record = nil
	t.notes = t.notes || passed == AfterClaim
	t.mu.Unlock()
	switch {
	case record != nil:
		close(record)
	case passed == "": // it took the round up for another process
		t.pass(AfterClaim)
	case passed == AfterClaim:
		t.at(Started)
	}
}

// begins says that the effect runs now. Without a store nothing noted it.
func (t *trap) begins() {
	t.mu.Lock()
	remembered := t.passed == AfterClaim
	t.mu.Unlock()
	if !remembered {
		t.at(Started)
	}
	t.mu.Lock()
	t.passed = Started
	t.mu.Unlock()
}

// leaves says that the handler comes past its effect. A trap behind the record waits for
// it, if the style makes one; without a store it is made.
func (t *trap) leaves(remembered bool) {
	if t.point != AfterRecord {
		return
	}
	if remembered {
		t.mu.Lock()
		notes, record := t.notes, make(chan struct{})
		t.record = record
		t.mu.Unlock()
		if !notes {
			return
		}
		<-record
	}
	t.at(AfterRecord)
}

// around is the trap's tap on the store of its process.
func (t *trap) around(_ context.Context, op operation, run, _ func() error) error {
	if op == create {
		t.at(BeforeClaim)
	}
	t.busy.RLock()
	err := run()
	t.busy.RUnlock()
	switch {
	case err != nil:
	case op == create:
		t.pass(AfterClaim)
	case op == update:
		t.wrote()
	}
	return err
}

// haltTool stops its process, though not in an operation of the store: one that stops in a
// write to SQLite keeps the file locked.
const haltTool = "halt"

func (t *trap) halt(context.Context, *mcp.CallToolRequest, Order) (*mcp.CallToolResult, struct{}, error) {
	t.busy.Lock()
	defer t.busy.Unlock()
	standStill()
	return nil, struct{}{}, nil
}

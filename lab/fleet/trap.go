//go:build unix

package fleet

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Point is a place in a call.
type Point string

// The points of the first round, which holds something and asks.
const (
	HoldStarted Point = "the first effect noted as started"
	AfterHold   Point = "after the first effect"
	AfterAsking Point = "after the questions"
)

// The points of the round that pays, in the order in which it passes them.
const (
	BeforeClaim Point = "before claim"
	AfterClaim  Point = "after claim"
	Started     Point = "effect noted as started"
	AfterEffect Point = "after the effect"
	AfterRecord Point = "after its record"
	AfterResult Point = "after the result"
)

// Points are those of the table of kills. FirstPoints come before them in a call.
var (
	Points      = []Point{BeforeClaim, AfterClaim, Started, AfterEffect, AfterRecord, AfterResult}
	FirstPoints = []Point{HoldStarted, AfterHold, AfterAsking}
)

// trap ends or stops this process at a point, once.
type trap struct {
	point Point
	stop  bool // rather than kill
	// busy is held by each operation of the store.
	busy sync.RWMutex

	// mu guards the fields below. The store's taps write them, and the tool's.
	mu     sync.Mutex
	sprung bool
	pays   bool          // the round is one that pays, and no first one
	passed Point         // AfterClaim, Started (the effect runs), AfterEffect
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
	if t.stop {
		standStill()
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

// standStill stops this process until somebody wakes it. A stop takes a while to reach all
// threads, and the caller goes on at none of them before.
func standStill() {
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	defer signal.Stop(woken)
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

// reach follows the shop.
func (t *trap) reach(place string) {
	switch place {
	case Held:
		t.at(AfterHold)
	case InTheEffect:
		t.mu.Lock()
		t.passed = Started
		t.mu.Unlock()
	case EffectEnds:
		t.pass(AfterEffect)
	case AfterTheEffect:
		t.leave()
	}
}

// leave waits for the record of the effect, if the style makes one.
func (t *trap) leave() {
	if t.point != AfterRecord {
		return
	}
	t.mu.Lock()
	notes, record := t.notes, make(chan struct{})
	t.record = record
	t.mu.Unlock()
	if notes {
		<-record
		t.at(AfterRecord)
	}
}

// around is the trap's tap on the store of its process.
func (t *trap) around(_ context.Context, op Operation, run, _ func() error) error {
	t.mu.Lock()
	pays := t.pays
	t.mu.Unlock()
	if pays && op == Create {
		t.at(BeforeClaim)
	}
	t.busy.RLock()
	err := run()
	t.busy.RUnlock()
	switch {
	case err != nil:
	case op == Create && !pays:
		t.at(HoldStarted) // or the questions, if nothing is held
	case op == Create:
		t.pass(AfterClaim)
	case op == Update && pays:
		t.wrote()
	}
	return err
}

// serves knows a round that pays when it comes, and springs the trap when the result is made and
// not sent yet.
func (t *trap) serves(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok {
			t.mu.Lock()
			t.pays = call.Params.RequestState != ""
			t.mu.Unlock()
		}
		res, err := next(ctx, method, req)
		if res, ok := res.(*mcp.CallToolResult); ok && err == nil {
			t.at(map[bool]Point{true: AfterAsking, false: AfterResult}[res.InputRequests != nil])
		}
		return res, err
	}
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

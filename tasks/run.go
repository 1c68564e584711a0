package tasks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// run works on a task at this instance, from one question to the next or to the end. With a
// store that others share it writes the record every third of a lease, and each of its writes
// is at the revision of the one before: a run that was taken for dead cannot write any more.
type run struct {
	m   *Manager
	key store.Key
	rec *record
	at  store.Revision
	way *way
	// holder names this run in the record.
	holder string

	full      time.Time     // since when the store has had no room for the round; zero where it has
	cancelled chan struct{} // tasks/cancel came here
	news      chan struct{} // there is another message

	mu      sync.Mutex
	message string
}

func newHolder() string { return rand.Text() }

// start works on a task, whose round may run already. It is false where the manager is
// closed.
func (m *Manager) start(key store.Key, rec *record, at store.Revision, w *way, running *round) bool {
	t := &run{m: m, key: key, rec: rec, at: at, way: w, holder: rec.Holder, cancelled: make(chan struct{}, 1), news: make(chan struct{}, 1)}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		t.letGo()
		return false
	}
	m.runs[key] = t
	m.ending.Add(1)
	m.mu.Unlock()
	if running != nil {
		running.ReportTo(t.tell)
	}
	go func() {
		defer m.ending.Done()
		t.main(running)
		m.mu.Lock()
		if m.runs[key] == t {
			delete(m.runs, key)
		}
		m.mu.Unlock()
		if t.rec.Status.terminal() {
			m.ledger.leave(key.Name)
			m.giveWay(m.ended.add(t.rec.Principal, endedTask{key, t.rec.Call, perEnded + t.rec.weight(), t.rec.Expires}))
		}
	}()
	return true
}

// running is the run of a task here, nil if there is none.
func (m *Manager) running(key store.Key) *run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[key]
}

// stop tells the run that its task was cancelled.
func (t *run) stop() {
	select {
	case t.cancelled <- struct{}{}:
	default:
	}
}

// maxMessage bounds a status message, and messageEvery how often one is written.
const (
	maxMessage   = 1 << 10
	messageEvery = time.Second
)

// tell takes a message about the progress of the handler.
func (t *run) tell(message string) {
	t.mu.Lock()
	t.message = clip(message)
	t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// told is the last message.
func (t *run) told() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.message
}

// maxIdle bounds the rounds in a row that ask nothing, of a handler that is not the engine's.
const maxIdle = 10

// retryPause is between two requests of which the handler refused the first for now.
const retryPause = 200 * time.Millisecond

func (t *run) main(r *round) {
	idle := 0
	for {
		if r == nil {
			if t.rec.Cancel && !t.rec.Engine {
				t.finish(cancelled, taskCancelled)
				return
			}
			p, err := t.rec.params()
			if err != nil {
				t.fail(err)
				return
			}
			r = t.way.begin(p, t.rec.Cancel, t.tell)
		}
		out, ok := t.await(r)
		if !ok {
			return
		}
		last := r
		r = nil
		res, isTool := out.res.(*mcp.CallToolResult)
		switch {
		case t.hasNoRoom(out.err):
			t.fail(errNoRoom)
			return
		case isRetryable(out.err):
			if !t.pause() {
				return
			}
		case t.rec.Cancel && out.isError():
			t.finish(cancelled, textOf(out))
			return
		case t.rec.Engine && isRefusedState(out.err):
			t.fail(errNotOpened)
			return
		case out.err != nil:
			t.fail(out.err)
			return
		case !isTool:
			t.fail(errNoEnd)
			return
		case res.InputRequests == nil:
			t.complete(res)
			return
		case len(res.InputRequests) == 0:
			if idle++; idle > maxIdle {
				t.fail(errors.New("the handler asked to be called again without a question too often"))
				return
			}
			t.rec.State, t.rec.Answers = res.RequestState, nil
			if !t.save() {
				return
			}
		case t.rec.Cancel:
			t.rec.State, t.rec.Answers = res.RequestState, nil // which is to be ended now
		default:
			idle = 0
			if !t.ask(res, last.Deadline) {
				return
			}
		}
	}
}

// errNotOpened is the end of a task whose state is refused here. The rounds before may have done anything.
var errNotOpened = errors.New("the server cannot open the state of this call any more, and nobody knows what the call has done")

func isRefusedState(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && wire.Code == jsonrpc.CodeInvalidParams && wire.Message == statecodec.Refusal
}

// hasNoRoom reports whether the store has had no room for the round for a lease. A round whose end it did
// not take is refused as one that still runs.
func (t *run) hasNoRoom(err error) bool {
	var wire *jsonrpc.Error
	switch {
	case !isRetryable(err):
		t.full = time.Time{}
	case t.full.IsZero() && errors.As(err, &wire) && bytes.Contains(wire.Data, []byte(callerror.StoreFull)):
		t.full = time.Now()
	}
	return !t.full.IsZero() && time.Since(t.full) >= t.m.lease
}

// await waits for a round, and shows meanwhile that somebody works on the task. It is false
// where the run is over: the manager is closed, or another one has taken the task over.
func (t *run) await(r *round) (out outcome, ok bool) {
	told := t.rec.Cancel
	heed := func() {
		if t.rec.Cancel && !told {
			told = true
			r.stop()
		}
	}
	var beat, due, long <-chan time.Time
	var changed <-chan struct{}
	watching, unwatch := context.WithCancel(t.m.ctx)
	defer unwatch()
	if t.m.shared {
		ticker := time.NewTicker(t.m.lease / 3)
		defer ticker.Stop()
		beat, long = ticker.C, time.After(watchAfter)
	} else if now, _, err := t.m.load(t.m.ctx, t.key); err == nil && now.Cancel { // before anybody knew of this run
		t.rec.Cancel = true
	}
	news := t.news
	for {
		heed()
		select {
		case out = <-r.done:
			return out, true
		case <-t.m.ctx.Done():
			r.cancel(context.Cause(t.m.ctx))
			switch out = <-r.done; {
			case !out.isError():
				return out, true
			case !t.rec.Kept && !isRetryable(out.err): // what it answers to our cancelling says nothing
				t.fail(errCutOff)
			default:
				t.letGo()
			}
			return out, false
		case <-t.cancelled: // the record says so too
			t.rec.Cancel = true
			continue
		case <-news:
			news, due = nil, time.After(messageEvery)
		case <-due:
			news, due = t.news, nil
			if t.rec.Message == t.told() {
				continue
			}
		case <-beat:
		case <-changed:
		case <-long:
			long, changed = nil, t.watch(watching)
			continue
		}
		if message := t.told(); message != "" { // else it is that of another instance
			t.rec.Message = message
		}
		if !t.save() {
			r.cancel(context.Canceled) // a client that leaves: the round is another's now
			return out, false
		}
		if changed != nil {
			changed = t.watch(watching)
		}
	}
}

// watchAfter is how long a round works before its record is watched.
const watchAfter = time.Second

// watch returns a channel that is closed once somebody else has written the record: the task
// was cancelled at another instance. A store that cannot be watched leaves it open, and the
// next sign of life finds the cancellation.
func (t *run) watch(ctx context.Context) <-chan struct{} {
	changed, at := make(chan struct{}), t.at
	go func() {
		if store.Wait(ctx, t.m.store, t.key, at) == nil {
			close(changed)
		}
	}()
	return changed
}

// pause waits before the same request is sent again. It is false where the run is over.
func (t *run) pause() bool {
	if !sleep(t.m.ctx, retryPause) {
		t.letGo()
		return false
	}
	if time.Now().After(t.rec.Expires) {
		return false
	}
	return t.save() // a sign of life, and word of a cancellation
}

// ask shows the questions of a round. It is true where the task was cancelled meanwhile, and
// goes on to be ended.
func (t *run) ask(res *mcp.CallToolResult, deadline func(question string) time.Time) bool {
	waiting := *t.rec
	if err := waiting.ask(res, deadline); err != nil {
		t.fail(err)
		return false
	}
	t.rec.State, t.rec.Answers, t.rec.Round = waiting.State, nil, waiting.Round
	saved := t.write(func() *record {
		if t.rec.Cancel {
			return t.rec
		}
		waiting.Message = t.told()
		return &waiting
	})
	return saved && t.rec.Cancel
}

const taskCancelled = "The task was cancelled."

func (t *run) finish(s status, message string) {
	t.write(func() *record {
		t.rec.end(s, clip(message))
		return t.rec
	})
}

func (t *run) complete(res *mcp.CallToolResult) {
	result, err := json.Marshal(res)
	if err != nil {
		t.fail(err)
		return
	}
	t.rec.Result = result
	t.finish(completed, "")
}

func (t *run) fail(err error) {
	wire := wireError(err)
	t.rec.Error = marshal(wire)
	t.finish(failed, wire.Message)
}

// save writes the record as it is now. It is false where another run has the task.
func (t *run) save() bool { return t.write(func() *record { return t.rec }) }

// write writes a record, made anew for each attempt: a cancellation may have come in between,
// and is in t.rec then. It goes on for a lease where the store fails. A record that the store
// does not take ends its task.
func (t *run) write(next func() *record) bool {
	ctx := context.Background()
	lost := func() bool {
		t.m.waits.drop(t.key)
		return false
	}
	shrunk := false
	shrink := func(why error) {
		shrunk = true
		t.rec.shrink(why)
		next = func() *record { return t.rec }
	}
	end := time.Now().Add(t.m.lease)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		r := next()
		r.Updated = time.Now()
		t.m.waits.ask(t.key, r, t.at)
		at, err := t.m.save(ctx, t.key, r, t.at)
		switch {
		case err == nil:
			t.at = at
			t.m.waits.saw(t.key, r, at)
			return !shrunk
		case errors.Is(err, store.ErrTooLarge) && !shrunk:
			shrink(errTooLarge)
			continue
		case errors.Is(err, store.ErrForgotten), errors.Is(err, store.ErrTooLarge):
			return lost()
		case errors.Is(err, store.ErrConflict):
			now, at, err := t.m.load(ctx, t.key)
			switch {
			case errors.Is(err, store.ErrNotFound):
				return lost() // it has expired
			case err == nil && now.Holder != t.holder:
				return false
			case err == nil:
				t.rec.Cancel = t.rec.Cancel || now.Cancel
				t.at = at
			}
		}
		switch late := time.Now().After(end); {
		case late && errors.Is(err, store.ErrFull) && !shrunk: // the rest is no longer than what it replaces
			shrink(errNoRoom)
			continue
		case late:
			t.m.o.Logger.Error("the record of a task could not be written", "tool", t.rec.Name, "principal", t.rec.Principal, "error", err)
			return lost()
		}
		time.Sleep(pause)
	}
}

// letGo leaves the task to whoever asks for it next.
func (t *run) letGo() {
	_, _, _ = t.m.change(context.Background(), t.key, func(r *record) bool {
		mine := r.Holder == t.holder
		r.Holder = ""
		return mine
	})
}

func isRetryable(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && wire.Code == callerror.CodeNotBegun
}

// wireError is an error as the client would have got it.
func wireError(err error) *jsonrpc.Error {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		wire = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	return wire
}

func marshal(wire *jsonrpc.Error) json.RawMessage {
	b, err := json.Marshal(wire)
	if err != nil { // its data is none
		b, _ = json.Marshal(&jsonrpc.Error{Code: wire.Code, Message: wire.Message})
	}
	return b
}

// textOf is the text with which a cancelled call ended.
func textOf(out outcome) string {
	if res, ok := out.res.(*mcp.CallToolResult); ok && out.err == nil {
		for _, content := range res.Content {
			if text, ok := content.(*mcp.TextContent); ok && text.Text != "" {
				return text.Text
			}
		}
	}
	return taskCancelled
}

// clip bounds a status message.
func clip(text string) string {
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	return strings.ToValidUTF8(text, "")
}

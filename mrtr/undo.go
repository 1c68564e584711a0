package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/spelling"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse/era"
)

// Undo describes the effect that a function undoes.
type Undo[T any] struct {
	Idem    string // the idempotency key that the effect itself had
	Value   T      // what the effect returned; the zero value if InDoubt
	InDoubt bool   // the effect may or may not have happened
	Why     error  // what ended the call
	// Unknown are the keys of other effects in doubt, which may stand on this one.
	Unknown []string
}

// UndoFunc undoes an effect. Its error says that the effect could not be undone.
type UndoFunc[T any] func(ctx context.Context, c *Call, u Undo[T]) error

// Undoing undoes the effect under one key.
type Undoing struct {
	key   string
	run   func(ctx context.Context, c *Call, u Undo[json.RawMessage]) error
	value func() any // a pointer to a new value as the effect has it
}

// UndoOf undoes the effect under key: see [Style.OnStop].
//
//	style := mrtr.Native(book).OnStop(mrtr.UndoOf("hold", func(ctx context.Context, c *mrtr.Call, u mrtr.Undo[Seat]) error {
//		return desk.Release(ctx, u.Idem, u.Value)
//	}))
//
// It runs without the handler: also after a crash, elsewhere, and in a newer version.
func UndoOf[T any](key string, undo UndoFunc[T]) Undoing {
	if undo == nil {
		return Undoing{key: key}
	}
	return Undoing{key: key, value: func() any { return new(T) }, run: func(ctx context.Context, c *Call, u Undo[json.RawMessage]) error {
		own := Undo[T]{Idem: u.Idem, InDoubt: u.InDoubt, Why: u.Why, Unknown: u.Unknown}
		if len(u.Value) > 0 {
			if err := json.Unmarshal(u.Value, &own.Value); err != nil {
				return misuse("the undo of %q takes a %T, and the effect's value is none: %v", key, own.Value, err)
			}
		}
		return undo(ctx, c, own)
	}}
}

// Key is that of the effect.
func (u Undoing) Key() string { return u.key }

// checkUndos returns an error for an undo that cannot be one.
func checkUndos(undos []Undoing) error {
	for i, u := range undos {
		switch {
		case u.run == nil:
			return misuse("the undo of %q has no function", u.key)
		case slices.ContainsFunc(undos[:i], func(other Undoing) bool { return other.key == u.key }):
			return twice(u.key, "undos")
		}
		if err := usage.CheckKey(u.key); err != nil {
			return err
		}
	}
	return nil
}

// undos are those of the style that the call is served with.
func (l *ledger) undos() []Undoing {
	if l.ex.client.Era == era.Modern {
		return l.target.undos
	}
	return l.target.legacyUndos
}

// undo undoes the effects of a call that has stopped, the last one first. It waits for an
// effect that still runs: one that runs on beyond its time stays in doubt. So does one that a
// forgotten run of the turn may have undone. An error says that the Keeper could not write down that
// an undo begins: it did not, and is left to the next request.
func (l *ledger) undo(ctx context.Context, undos []Undoing, why error) error {
	if len(undos) == 0 {
		return nil
	}
	l.quiet()
	for i := len(l.history()) - 1; i >= 0; i-- {
		h := l.history()
		e := h[i]
		at := slices.IndexFunc(undos, func(u Undoing) bool { return u.key == shown(e.key) })
		switch {
		case !e.mayStand() || h.undoing(e.key) != nil || l.runs(e.key):
		case at < 0:
			l.missesUndo(&e, undos)
		case l.doubts && (i < l.base || e.found):
			l.locked(func() {
				l.grow(entry{kind: listen.Undone, key: e.key, doubt: true}, listen.Entry{Reason: "it may have been undone before"})
			})
		default:
			if err := l.undoOne(context.WithoutCancel(ctx), &e, undos[at], why); err != nil {
				return err
			}
		}
	}
	return nil
}

// missesUndo tells the log of an effect that stands because the key of its undo is misspelt. What
// effects a handler has shows only when they happen.
func (l *ledger) missesUndo(e *entry, undos []Undoing) {
	own := []string{shown(e.key)}
	for _, u := range undos {
		if len(spelling.Nearest(u.key, own, 1)) == 0 || slices.ContainsFunc(l.history(), func(e entry) bool { return shown(e.key) == u.key }) {
			continue
		}
		err := misuse("effect %q has no undo: is that of %q meant for it?", own[0], u.key)
		l.locked(func() {
			l.hear(listen.Entry{Kind: listen.Stands, Key: own[0], Err: err, Reason: "it could not be undone"})
		})
	}
}

func (l *ledger) history() history {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.st.done
}

func (l *ledger) runs(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isRunning(key)
}

// beginUndo marks an effect as being undone, unless it runs, was undone, or is being undone: a round
// that is given up may still be at it.
func (l *ledger) beginUndo(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isRunning(key) || l.st.done.undoing(key) != nil {
		return false
	}
	l.run(runningEffect{key: key, undoes: true, until: time.Now().Add(defaultWithin)})
	return true
}

func (l *ledger) undoOne(ctx context.Context, e *entry, undo Undoing, why error) error {
	if !l.beginUndo(e.key) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, defaultWithin)
	defer cancel()
	end := entry{kind: listen.Undone, key: e.key, doubt: true}
	if err := l.noteBegun(ctx, end); err != nil {
		l.locked(func() { l.ended(e.key) })
		return err
	}
	unknown := slices.DeleteFunc(l.outcome().fates().Unknown, func(key string) bool { return key == shown(e.key) })
	l.mu.Lock()
	u := Undo[json.RawMessage]{Idem: l.idem(e.key, l.st.done.isFree(e.key)), InDoubt: !e.isEffect() || e.doubt, Why: why, Unknown: unknown}
	l.mu.Unlock()
	if !u.InDoubt {
		u.Value = e.value
	}
	began, found := time.Now(), false
	failed := guard(func() error { // the methods of its error may panic too
		end.doubt = false
		if l.st.isReplaced(l.target.version) {
			if how := lost(u.Value, undo.value()); how != "" {
				return misuse("the value of effect %q %s", shown(e.key), how)
			}
		}
		end.doubt = true
		err := undo.run(ctx, new(Pass).begin(l).Call(), u)
		found = errors.Is(err, ErrFound)
		end.doubt = err != nil && !found && inDoubt(ctx, err)
		return err
	})
	about := listen.Entry{Took: time.Since(began)}
	switch {
	case failed == nil:
		if end.doubt = u.InDoubt; end.doubt {
			about.Reason = "nobody knows whether the effect happened"
		}
	case found:
	case end.doubt:
		about.Err, about.Reason = failed, "nobody knows whether it was undone"
	default:
		end.kind = listen.Stands
		about.Err, about.Reason = failed, "it could not be undone"
	}
	l.locked(func() {
		l.ended(e.key)
		l.grow(end, about)
	})
	if l.notes != nil {
		l.noteEnded(&entry{kind: listen.Undone, key: e.key})
	}
	return nil
}

// doubtUndoings tells the listener of effects that an earlier run of the turn began to undo and
// never finished undoing.
func (l *ledger) doubtUndoings(left history) {
	l.locked(func() {
		for i := range left {
			if e := &left[i]; e.kind == listen.Undone && e.doubt && left.undoing(e.key) == e {
				l.hear(listen.Entry{Kind: listen.Undone, Key: shown(e.key), Doubt: true, Reason: "the server was cut off while it was undone"})
			}
		}
	})
}

// Abandon undoes the effects of a call that only this held handler could have resumed. Call tells,
// unless it is nil, with the pass of a later request, which then undoes nothing.
func (p *Pass) Abandon(why error) (tells func(later *Pass)) {
	l := p.at.Load()
	if l.st.isKept() {
		return nil
	}
	before := len(l.history())
	_ = l.undo(context.Background(), l.undos(), why) // no Keeper has the round
	ends := l.history()[before:]
	if len(ends) == 0 {
		return nil
	}
	return func(later *Pass) { later.locked(func(l *ledger) { l.st.done = append(l.st.done, ends...) }) }
}

// LeaveEffects leaves the effects to another pass of the call, which goes on or undoes them.
func (p *Pass) LeaveEffects(why string) {
	p.locked(func(l *ledger) {
		for _, u := range l.undos() {
			if e := l.st.done.find(func(e *entry) bool { return e.mayStand() && shown(e.key) == u.key }); e != nil && l.st.done.undoing(e.key) == nil {
				l.grow(entry{kind: listen.Undone, key: e.key, doubt: true}, listen.Entry{Reason: why})
			}
		}
	})
}

// A call is abandoned when its states have expired and it was not resumed. If it has
// effects with a declared undo, the outcome that asked is due then, and keeps the request that
// asked: whichever instance finds it claims the turn that the user never took, and undoes them. A turn
// that was cut off in the first of those effects is due itself, and is claimed itself.

// maxLookedAfter bounds the arguments that are kept for that.
const maxLookedAfter = 64 << 10

// isLookedAfter reports whether a sweeper looks after the effects of the call, if it is abandoned.
func (r *round) isLookedAfter() bool {
	return len(r.target.undos) > 0 && len(r.ex.arguments) <= maxLookedAfter && r.target.rt.watches.Load()
}

// lookAfter makes an outcome that asks due, if the call has effects to undo.
func (r *round) lookAfter(o *keep.Outcome) {
	if r.keeps && o.Token != "" && r.isLookedAfter() && r.canUndo() {
		r.locked(func() { r.watched = true })
		o.Due, o.Request = r.due(time.UnixMilli(r.st.until)), r.request(false)
	}
}

// request is the request of this round for the sweeper that looks after it. The call splits off from the
// state that comes with it.
func (r *round) request(splits bool) json.RawMessage {
	w := jsontext.Begin(nil, "v", recordFormat)
	w.Text("method", r.ex.method)
	w.Text("name", r.ex.name)
	w.Text("principal", r.principal)
	w.Text("audience", r.target.Audience)
	w.Text("arguments", string(r.ex.arguments))
	w.Flag("split", splits)
	if in := r.intent; in != nil {
		w.Text("mark", r.st.mark)
		w.Text("intent", in.name)
		w.Text("print", in.print)
		w.Flag("keyed", in.keyed)
		w.Flag("alone", in.alone)
	}
	if len(r.target.undos) > 0 {
		w.List("undos")
		for i, u := range r.target.undos {
			w.Object(i, "key", u.key)
			w.EndObject()
		}
		w.EndList()
	}
	return w.End()
}

// ofRequest is a round for a request that is looked after, nil if this instance has no handler for it.
func (rt *Runtime) ofRequest(ctx context.Context, request json.RawMessage, token string) *round {
	c, format := jsontext.Open(request, "v")
	ex := exchange{method: c.Text("method"), name: c.Text("name"), client: era.Client{Era: era.Modern}}
	principal, audience := c.Text("principal"), c.Text("audience")
	ex.arguments, ex.token = json.RawMessage(c.Text("arguments")), token
	t, found := rt.registrations.Find(ex.method, ex.name, audience)
	if format != recordFormat || !found {
		return nil
	}
	r := newRound(t, ex)
	r.principal, r.keeps, r.life = principal, true, ctx
	split, mark := c.Flag("split"), c.Text("mark")
	in := &intent{name: c.Text("intent"), print: c.Text("print"), keyed: c.Flag("keyed"), alone: c.Flag("alone")}
	undos := undosIn(&c)
	if token == "" {
		r.st = state{version: t.version, style: t.print, mark: mark}
		r.intent, r.st.id = in, in.name+digest.NewID() // until the Keeper tells under which its effects are
	} else {
		var err error
		if r.st, err = r.unsealKept(token); err != nil {
			return nil
		}
	}
	if t.leavesUndo(r.st.done, undos) {
		return nil
	}
	if token != "" && split {
		r.splitOff()
	}
	return r
}

// undosIn are the keys of the undos that whoever made a request had.
func undosIn(request *jsontext.Reader) (keys []string) {
	if request.List("undos") {
		for i := 0; request.Object(i); i++ {
			keys = append(keys, request.First("key"))
			request.EndObject()
		}
	}
	return keys
}

// leavesUndo reports whether a call is left to an instance of another version, since it may need one of
// these undos that this target does not have. The effects of a turn that was cut off show when it is
// claimed.
func (t *target) leavesUndo(h history, undos []string) bool {
	needs := func(key string) bool {
		return h.find(func(e *entry) bool { return e.mayStand() && shown(e.key) == key }) != nil
	}
	shows := slices.ContainsFunc(undos, needs)
	return slices.ContainsFunc(undos, func(key string) bool {
		return (!shows || needs(key)) && !slices.ContainsFunc(t.undos, func(u Undoing) bool { return u.key == key })
	})
}

// endAbandoned ends the call of an outcome or a turn that is looked after, unless it was resumed.
func (rt *Runtime) endAbandoned(ctx context.Context, outcome []byte, reason string) (done bool) {
	o, _ := jsontext.Open(outcome, "v")
	token, request := o.Text("token"), o.Raw("call")
	r := rt.ofRequest(ctx, request, token)
	if r == nil {
		return false
	}
	why := &Error{Reason: Abandoned}
	turn := r.turn(why)
	turn.Late = true
	ended, err := rt.keeper.Keep(ctx, turn, func(ctx context.Context, n keep.Notes) keep.Outcome {
		if own := n.Call(); own != "" {
			r.st.id = own
		}
		r.st.round++
		ctx = r.began(ctx)
		r.hear(listen.Entry{Kind: listen.GaveUp, Reason: reason}) // told once the round has what was left in it
		o := r.run(ctx, n, why)
		r.endedWith(ctx, o)
		return o
	})
	wire := (*jsonrpc.Error)(nil)
	return err == nil && !ended.Free && !ended.Orphaned || errors.Is(err, keep.ErrSplit) || errors.As(err, &wire) && wire.Code == jsonrpc.CodeInvalidParams
}

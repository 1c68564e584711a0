package mrtr

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"unsafe"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// state is what survives from round to round, in the token.
type state struct {
	id      string
	round   int    // 0 for a call whose handler has not been entered
	asked   int    // rounds so far that asked
	version string // of the handler that the call began with
	sealed  string // of the one that asked these questions, where it is another
	mixed   bool   // another one left effects in this round; not in the token
	style   string // the print of the style
	frame   string // what a style that holds handlers finds this one by
	trace   string // the listener's
	done    history
	pending []question.Pending
	mark    string // the Keeper's, "" for a call that is not kept
	turn    int    // the number of the next one, which enters the handler or ends the call
	until   int64  // in Unix milliseconds, the end of every state that asks for the turn

	line *lineage // of a call that others may join, nil for any other
}

// lineage is what the states of one branch of a call have in common.
type lineage struct {
	branch string // "" for those of the request that began the call
	seen   int    // the turns whose questions had gone out when the branch began
	keeps  int64  // in Unix milliseconds, until when the records of the earlier turns live at least
	keyed  bool   // its client has a key for the call
}

// lineage is a copy of that of the state.
func (st *state) lineage() lineage {
	if st.line == nil {
		return lineage{}
	}
	return *st.line
}

// isKept reports whether a Keeper keeps the rounds of the call. That is decided in the first
// round.
func (st *state) isKept() bool { return st.mark != "" }

// isReplaced reports whether another version of the handler than this one served an earlier round.
func (st *state) isReplaced(by string) bool { return st.version != by || st.sealed != "" || st.mixed }

// isDeployed reports whether another version served the round before.
func (st *state) isDeployed(by string) bool { return cmp.Or(st.sealed, st.version) != by }

// lost says how today's type fails to hold a value that another version made; "" if it does
// not. JSON ignores fields that the type lacks, so a renamed field would silently be zero, and
// a handler would pay for a booking without its number. A field that was added is no loss.
// The type's own methods are called, and may panic.
func lost(value json.RawMessage, today any) string {
	if len(value) == 0 {
		return ""
	}
	strict := json.NewDecoder(bytes.NewReader(value))
	strict.DisallowUnknownFields()
	err := strict.Decode(today)
	if err == nil {
		return ""
	}
	if field, gone := strings.CutPrefix(err.Error(), "json: unknown field "); gone {
		return "has lost its field " + field
	}
	return "is of another type"
}

// weight estimates the memory of a state whose questions are at their client.
func (st *state) weight() int {
	sum := cap(st.done) * int(unsafe.Sizeof(entry{}))
	for i := range st.done {
		e := &st.done[i]
		sum += len(e.key) + len(e.words) + len(e.value)
		if e.asked != nil {
			sum += digest.Len
		}
	}
	return sum
}

// stateFormat is the version of the encoding. A state of another version was sealed by another
// release, and does not open.
const stateFormat = 4

// appendTo appends the state as JSON, so that anybody can read one that is left readable. It
// has one spelling: members in this order, and none that has its default.
func (st *state) appendTo(b []byte) []byte {
	w := jsontext.Begin(b, "v", stateFormat)
	w.Text("call", st.id)
	w.Number("round", st.round)
	w.Number("asked", st.asked)
	w.Text("from", st.version)
	w.Text("by", st.sealed)
	w.Text("style", st.style)
	w.Text("frame", st.frame)
	w.Text("trace", st.trace)
	st.done.write(&w)
	if len(st.pending) > 0 {
		w.List("pending")
		for i := range st.pending {
			st.pending[i].Write(&w, i, st.line != nil)
		}
		w.EndList()
	}
	w.Text("mark", st.mark)
	w.Number("turn", st.turn)
	w.Number("until", int(st.until))
	if l := st.line; l != nil {
		w.Text("branch", l.branch)
		w.Number("seen", l.seen)
		w.Number("keeps", int(l.keeps))
		w.Flag("keyed", l.keyed)
	}
	return w.End()
}

// readState reads a state, and shares no memory with the bytes. They have been authenticated:
// if they do not fit, another release sealed them.
func readState(b []byte) (st state, ok bool) {
	r, v := jsontext.Open(b, "v")
	if v != stateFormat {
		return st, false
	}
	st = state{
		id: r.Text("call"), round: r.Number("round"), asked: r.Number("asked"),
		version: r.Text("from"), sealed: r.Text("by"), style: r.Text("style"), frame: r.Text("frame"),
		trace: r.Text("trace"), done: readHistory(&r),
	}
	if r.List("pending") {
		for i := 0; r.Object(i); i++ {
			st.pending = question.Append(st.pending, &r)
		}
	}
	st.mark, st.turn, st.until = r.Text("mark"), r.Number("turn"), int64(r.Number("until"))
	if l := (lineage{r.Text("branch"), r.Number("seen"), int64(r.Number("keeps")), r.Flag("keyed")}); l != (lineage{}) {
		st.line = new(lineage)
		*st.line = l
	}
	return st, r.End() && st.id != "" && st.round >= 0
}

func (h history) write(w *jsontext.Writer) {
	if len(h) == 0 {
		return
	}
	w.List("done")
	for i := range h {
		e := &h[i]
		w.Object(i, "key", e.key)
		if e.kind != listen.Answered {
			w.Text("kind", string(e.kind))
		} else {
			w.Text("words", e.wording())
		}
		w.Raw("value", e.value)
		w.Flag("doubt", e.doubt)
		w.Flag("free", e.free)
		w.Flag("checks", e.checks)
		w.Number("reworded", e.reworded)
		w.EndObject()
	}
	w.EndList()
}

func readHistory(r *jsontext.Reader) (h history) {
	if !r.List("done") {
		return nil
	}
	for i := 0; r.Object(i); i++ {
		h = append(h, entry{
			key: r.First("key"), kind: cmp.Or(listen.EntryKind(r.Text("kind")), listen.Answered), words: r.Text("words"), value: r.Raw("value"),
			doubt: r.Flag("doubt"), free: r.Flag("free"), checks: r.Flag("checks"), reworded: r.Number("reworded"),
		})
		r.EndObject()
	}
	return h
}

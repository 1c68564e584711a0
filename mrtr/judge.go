package mrtr

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/sse/era"
)

// judgeAnswers checks the answers that came back against the questions that were sent. It
// reports whether every question has one now. Otherwise the open questions are
// asked again, without the handler. A decline ends the call with Declined, unless
// the question is lenient (Confirm, Optional).
//
// The work on one answer is bounded by its question and its size. It is not begun
// for a client that has hung up.
func (l *ledger) judgeAnswers(ctx context.Context) (settled bool, _ error) {
	if l.arrival == nil {
		l.arrival = l.arrive()
	}
	for i := range l.st.pending {
		p := &l.st.pending[i]
		if p.settled() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err := l.judgeAnswer(ctx, p); err != nil {
			return false, err
		}
	}
	return l.gateAgain()
}

func (l *ledger) judgeAnswer(ctx context.Context, p *pending) error {
	late := l.arrival != nil && l.arrival.isLate(p)
	if late && !l.arrival.punctual {
		return p.lapse()
	}
	answer, tries := l.ex.answers[p.key], p.tries
	err := p.judge(ctx, l.ex.client, answer, l.rt.opts.MaxStateBytes/2)
	if late && err == nil && !p.settled() {
		return p.lapse()
	}
	p.tell(p.answered(answer, err))
	if p.tries > tries {
		l.observe(ctx, Event{Kind: AnswerRefused, Question: p.key, Reason: refusalOf(ctx, p.key, answer)})
	}
	return err
}

// refusalOf tells the observer why an answer is asked for again: the note to the user
// may quote it.
func refusalOf(ctx context.Context, key string, answer mcp.InputResponse) string {
	if answer == nil {
		if _, came := rendezvous.MisfitOf(ctx, key); !came {
			return "it is missing"
		}
	}
	return "it does not fit"
}

// gateAgain files the answers of a round, or decides of every question that is left
// whether this round's client can be asked it: it may have declared less than the
// client of the round before.
func (l *ledger) gateAgain() (settled bool, _ error) {
	for i := range l.st.pending {
		p := &l.st.pending[i]
		if p.settled() {
			continue
		}
		standIn, err := l.gateOrReport(p.spec)
		if err != nil {
			return false, err
		}
		p.settle(standIn)
	}
	answered := l.st.pending
	settled, err := l.file()
	if settled {
		l.answered = answered
	}
	return settled, err
}

// refuseAnswer notes that the handler could not read an answer of this round, so that it is
// asked for again. It is false for an answer of an earlier round.
func (l *ledger) refuseAnswer(key, note string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.answered {
		if p := &l.answered[i]; p.key == key && p.answer != nil {
			p.refuse(note)
			return true
		}
	}
	return false
}

// errRefused ends a linear run that could not read an answer of this round.
var errRefused = errors.New("an answer could not be read")

// takeBack opens the questions of this round again where the handler could not read
// an answer, and reports whether it did.
func (l *ledger) takeBack(ctx context.Context) (bool, error) {
	refused, err := l.reopenRefused()
	for _, key := range refused {
		l.observe(ctx, Event{Kind: AnswerRefused, Question: key, Reason: "its type refuses it"})
	}
	return len(refused) > 0, err
}

// reopenRefused opens those questions again, and names them.
func (l *ledger) reopenRefused() (refused []string, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.answered {
		p := &l.answered[i]
		if p.refusedBy == "" {
			continue
		}
		refused = append(refused, p.key)
		if err := p.again(p.refusedBy); err != nil {
			return refused, err
		}
	}
	if len(refused) > 0 {
		l.st.reopen(l.answered)
	}
	return refused, nil
}

// file remembers the answers of a round, if every question has one. The call ends where
// an effect stands on another answer.
func (l *ledger) file() (bool, error) {
	if !l.st.settled() {
		return false, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.answersHold(); err != nil {
		return false, err
	}
	l.st.file()
	return true, nil
}

// judge takes one response. Anything may have arrived: nothing, null, the
// response to another kind of question, an action nobody defined. An answer of more
// than limit bytes is asked for again.
func (p *pending) judge(ctx context.Context, client era.Client, response mcp.InputResponse, limit int) error {
	switch r := response.(type) {
	case *mcp.ElicitResult:
		if r == nil || p.kind != formKind && p.kind != urlKind {
			break
		}
		switch r.Action {
		case "accept":
			return p.accept(client, r.Content, limit)
		case "decline", "cancel":
			if p.lenient || p.tells {
				p.settle(p.outcome(r.Action))
				return nil
			}
			return declined(p.key, r.Action)
		}
		return p.again("Please accept, decline or cancel.")
	case *mcp.CreateMessageWithToolsResult:
		if r != nil && (p.kind == sampleKind || p.kind == toolsKind) {
			return keep(p, r, limit)
		}
	case *mcp.ListRootsResult:
		if r != nil && p.kind == rootsKind {
			return keep(p, r, limit)
		}
	case nil:
		return p.misfit(ctx)
	}
	return p.again("The answer was of another kind than the question.")
}

// misfit takes an answer that did not reach this package because it did not fit, or none.
func (p *pending) misfit(ctx context.Context) error {
	answer, came := rendezvous.MisfitOf(ctx, p.key)
	if !came {
		return p.again("")
	}
	f, err := form.Of(p.schema)
	if err != nil {
		return p.again("")
	}
	note := f.Misfit(answer.Properties).Error()
	if answer.Missing && f.LacksAll(answer.Properties) {
		return p.empty(note)
	}
	return p.again(note)
}

func (p *pending) accept(client era.Client, content map[string]any, limit int) error {
	if p.kind == urlKind {
		p.settle(json.RawMessage("{}"))
		return nil
	}
	f := p.form
	if f == nil { // the question came with the state
		var err error
		if f, err = form.Of(p.schema); err != nil {
			return err
		}
		p.useForm(f)
	}
	values := content
	if client.TextsOnly {
		var err error
		if values, err = form.FromTexts(p.schema, content, limit); err != nil {
			return err
		}
	}
	answer, err := f.Accept(values, limit)
	switch {
	case err == nil:
	case len(content) == 0:
		return p.empty(err.Error())
	default:
		return p.again(err.Error())
	}
	if note := p.refusal(answer); note != "" {
		return p.again(note)
	}
	p.settle(answer)
	return nil
}

// notShown ends the note on an accept with nothing in it.
const notShown = " If you saw nothing to fill in, this client does not seem to show forms."

// empty takes an accept that has nothing of what the form requires. Many clients answer so
// because they show no forms. To ask on would be in vain: the second in a row ends the call.
// Its note is in the state, and tells it from any other answer that did not fit.
func (p *pending) empty(note string) error {
	if strings.HasSuffix(p.note, notShown) {
		return p.giveUp(neverFilledIn)
	}
	return p.again(note + notShown)
}

// keep stores a sampling or roots result that survives a JSON round trip. Any other
// is asked for again.
func keep[R any](p *pending, result *R, limit int) error {
	value, err := json.Marshal(result)
	if len(value) > limit {
		return p.again(fmt.Sprintf("The answer was too long: it may have %d bytes.", limit))
	}
	if err == nil {
		err = json.Unmarshal(value, new(R))
	}
	if err != nil {
		return p.again("The answer could not be read.")
	}
	p.settle(value)
	return nil
}

func declined(key, action string) error {
	if action == "cancel" {
		return &Error{Reason: Cancelled, Key: key}
	}
	return &Error{Reason: Declined, Key: key}
}

// answerType is a Go type that decodes itself, and so can refuse an answer that
// fits its form. The state names it, so that the answer is judged before the
// handler is entered: by any process that has made a question of the type before.
// In another, the handler finds out ([Call.refuseAnswer]).
type answerType struct {
	typ  reflect.Type
	read func(answer json.RawMessage, key string) error
}

var selfDecoding struct {
	names sync.Map // reflect.Type to its name in states, "" where the form decides
	types sync.Map // from that name to an *answerType
}

// answerTypeName names the type of an answer in the state, if it decodes itself.
func answerTypeName[T any]() string {
	t := reflect.TypeFor[T]()
	if name, ok := selfDecoding.names.Load(t); ok {
		return name.(string)
	}
	base := t // of an optional question
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	name := ""
	if form.Refuses(base) {
		name = registerAnswerType[T]()
	}
	selfDecoding.names.Store(t, name)
	return name
}

// registerAnswerType lets this process judge answers by a type, whether or not it
// decodes itself.
func registerAnswerType[T any]() (name string) {
	base := reflect.TypeFor[T]()
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	sum := sha256.Sum256([]byte(base.PkgPath() + "\x00" + base.String()))
	name = base64.RawURLEncoding.EncodeToString(sum[:9])
	own := &answerType{typ: base, read: func(answer json.RawMessage, key string) error {
		_, err := decodeAnswer[T](answer, key)
		return err
	}}
	if other, loaded := selfDecoding.types.LoadOrStore(name, own); loaded && other.(*answerType).typ != base {
		// Two types that were declared in functions share a name. Either could be
		// meant, so that the handler has to find out.
		selfDecoding.types.Store(name, &answerType{typ: base, read: func(json.RawMessage, string) error { return nil }})
	}
	return name
}

// refusal says why the type of an answer refuses it, "" if it does not, or if this
// process does not know the type.
func (p *pending) refusal(answer json.RawMessage) string {
	if p.typ == "" {
		return ""
	}
	t, ok := selfDecoding.types.Load(p.typ)
	if !ok {
		return ""
	}
	return refusalBy(t.(*answerType).read, answer, p.key)
}

// refusalBy is the note for the user. It names the properties that were refused. The
// text of an error is not the user's business, since it may repeat the answer or
// name a Go type; an error has advice for the user where it has a method
// ToolErrorHints.
func refusalBy(read func(json.RawMessage, string) error, answer json.RawMessage, key string) string {
	err := read(answer, key)
	if err == nil {
		return ""
	}
	var content map[string]json.RawMessage
	var refused []string
	if json.Unmarshal(answer, &content) == nil && len(content) > 1 {
		for _, name := range slices.Sorted(maps.Keys(content)) {
			alone, _ := json.Marshal(map[string]json.RawMessage{name: content[name]})
			if read(alone, key) != nil {
				refused = append(refused, name)
			}
		}
	}
	if len(refused) == 0 { // it is one property, or they do not go together
		refused = slices.Sorted(maps.Keys(content))
	}
	note := "The answer cannot be used: " + strings.Join(refused, ", ") + "."
	var advice interface{ ToolErrorHints() []string }
	if errors.As(err, &advice) {
		note += " " + strings.Join(advice.ToolErrorHints(), " ")
	}
	return note
}

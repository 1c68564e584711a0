package question

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// MaxTries is how often one question is asked again for a usable answer.
const MaxTries = 3

// Judge takes one response of at most limit bytes. It keeps the answer as it came too, whenever that
// was: equal requests claim their round with that, and the first of them decides whether it was late.
// A punctual response is known to have come in time, if it came at all. refused tells the log why the
// answer is asked for again. The error is an [End], or that of a question which can't be judged.
func (p *Pending) Judge(ctx context.Context, response mcp.InputResponse, limit int, late, punctual bool) (refused string, err error) {
	asked := *p
	err = p.take(ctx, response, limit)
	p.How, p.Came = p.howAnswered(response, err), p.Answer
	if err != nil && p.How != "" {
		p.Came = json.RawMessage(p.How)
	}
	if late && (!punctual || err == nil && !p.Answered()) {
		asked.Came = p.Came
		*p = asked
		return "", p.lapse()
	}
	if p.Tries > asked.Tries {
		refused = p.refusal(ctx, response)
	}
	return refused, err
}

// refusal says why an answer is asked for again. The note to the user may quote the answer.
func (p *Pending) refusal(ctx context.Context, response mcp.InputResponse) string {
	if response == nil {
		if _, came := rendezvous.MisfitOf(ctx, p.Key); !came {
			return "it is missing"
		}
	}
	return "it does not fit"
}

// howAnswered is how a response answers its question, "" where it does not.
func (p *Pending) howAnswered(response mcp.InputResponse, err error) string {
	if err == nil && !p.Answered() || err != nil && !isNo(err) {
		return ""
	}
	if r, ok := response.(*mcp.ElicitResult); ok && r != nil {
		switch r.Action {
		case "decline":
			return listen.HowDeclined
		case "cancel":
			return listen.HowCancelled
		}
	}
	if len(p.Answer) == len(p.Key)+len(`{"":false}`) && strings.HasSuffix(string(p.Answer), `":false}`) {
		return listen.HowNo
	}
	return listen.HowAccepted
}

func isNo(err error) bool {
	end, ok := err.(*End)
	return ok && (end.Outcome == Declined || end.Outcome == Cancelled)
}

// take takes one response. Anything may have arrived: nothing, null, the response to another kind of
// question, an action nobody defined. An answer of more than limit bytes is asked for again.
func (p *Pending) take(ctx context.Context, response mcp.InputResponse, limit int) error {
	switch r := response.(type) {
	case *mcp.ElicitResult:
		if r == nil || p.Kind != Form && p.Kind != URL {
			break
		}
		switch r.Action {
		case "accept":
			return p.accept(r.Content, limit)
		case "decline":
			return p.refuse(Declined, "")
		case "cancel":
			return p.refuse(Cancelled, "")
		}
		return p.Again("Please accept, decline or cancel.")
	case *mcp.CreateMessageWithToolsResult:
		if r != nil && (p.Kind == Sample || p.Kind == Tools) {
			return store(p, r, limit)
		}
	case *mcp.ListRootsResult:
		if r != nil && p.Kind == Roots {
			return store(p, r, limit)
		}
	case nil:
		return p.misfit(ctx)
	}
	return p.Again("The answer was of another kind than the question.")
}

// refuse settles a question by an outcome without an answer, or ends its call.
func (p *Pending) refuse(o Outcome, detail string) error {
	if p.Lenient || p.Tells {
		p.Answer = p.outcome(o)
		return nil
	}
	return &End{Outcome: o, Key: p.Key, Detail: detail}
}

// misfit takes an answer that did not reach this package because it did not fit, or none.
func (p *Pending) misfit(ctx context.Context) error {
	answer, came := rendezvous.MisfitOf(ctx, p.Key)
	if !came {
		return p.Again("")
	}
	f, err := form.Of(p.Schema)
	if err != nil {
		return p.Again("")
	}
	note := f.Misfit(answer.Properties).Error()
	if answer.Missing && f.LacksAll(answer.Properties) {
		return p.empty(note)
	}
	return p.Again(note)
}

func (p *Pending) accept(content map[string]any, limit int) error {
	if p.Kind == URL {
		p.Answer = json.RawMessage("{}")
		return nil
	}
	f, err := p.formOf()
	if err != nil {
		return err
	}
	answer, err := f.Accept(content, limit)
	switch {
	case err == nil:
		p.Answer = answer
		return nil
	case len(content) == 0:
		return p.empty(err.Error())
	}
	return p.Again(err.Error())
}

// notShown ends the note on an accept with nothing in it.
const notShown = " If you saw nothing to fill in, this client does not seem to show forms."

// empty takes an accept that has nothing of the properties that the form requires. Many clients answer
// so because they show no forms, and to ask on would be in vain: the second in a row ends the
// call. Its note is in the state, and tells it from any other answer that did not fit.
func (p *Pending) empty(note string) error {
	if strings.HasSuffix(p.Note, notShown) {
		p.Tries++
		return &End{Outcome: Unanswered, Key: p.Key, Detail: "accepted twice with no required field filled in, so this client does not seem to show forms"}
	}
	return p.Again(note + notShown)
}

// store keeps a sampling or roots result that survives a round trip through JSON. Any other is
// asked for again.
func store[R any](p *Pending, result *R, limit int) error {
	value, err := json.Marshal(result)
	if len(value) > limit {
		return p.Again(fmt.Sprintf("The answer was too long: it may have %d bytes.", limit))
	}
	if err == nil {
		err = json.Unmarshal(value, new(R))
	}
	if err != nil {
		return p.Again("The answer could not be read.")
	}
	p.Answer = value
	return nil
}

// Again drops an answer that is of no use, and leaves a note for the question's next
// appearance. It ends a call that has asked too often.
func (p *Pending) Again(note string) error {
	p.Answer = nil
	if p.Tries++; p.Tries > MaxTries {
		return &End{Outcome: Unanswered, Key: p.Key}
	}
	p.Note = strings.ToValidUTF8(note, "\ufffd") // it may quote anything
	return nil
}

// lapse takes silence for an answer.
func (p *Pending) lapse() error {
	p.How = listen.HowSilence
	if standIn := p.Fallback(); standIn != nil {
		p.Answer = standIn
		return nil
	}
	return p.refuse(Unanswered, "not answered in time")
}

// RefusedAs is the note for the user about an answer that its Go type refuses. It names the
// properties that were refused. The text of an error is not the user's business, since it may
// repeat the answer or name a Go type; an error has advice for the user if it has a method
// ToolErrorHints.
func RefusedAs(read func(value json.RawMessage, key string) error, answer json.RawMessage, key string) string {
	err := read(answer, key)
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

package mrtrtest

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// AlikeRule is one thing that must hold of every call of [Alike].
type AlikeRule struct {
	Name        string
	Explanation string
	// Broken says how the call breaks the rule, and "" if it keeps it.
	Broken func(Trial) string
}

// Trial is one call under the rules.
type Trial struct {
	Subject  Subject
	Contract Contract
	Saw      *Outcome
	// Reference is the same call made by the first subject. It is nil if that
	// call broke a rule: then the first subject is reported, and the others are
	// not compared with it.
	Reference *Outcome
}

// AlikeRules are all rules, in the order in which they are checked.
func AlikeRules() []AlikeRule {
	return []AlikeRule{
		{"result", "A call ends as its contract says, however the tool is written.", result},
		{"questions", "The client is asked the questions of the contract and no others: the same keys, messages and schemas, byte for byte, in the same order.", questions},
		{"rounds", "A modern call takes one request, and one more for each round of questions; a legacy call takes one.", rounds},
		{"effects", "An effect happens as often as the contract says, however often the code around it runs.", effects},
		{"transcript", "No client can tell two subjects apart: their messages are the same but for ids and states.", transcript},
	}
}

func result(t Trial) string {
	last, want := t.Saw, t.Contract.Ends
	if want.ProtocolError != "" || last.Error != nil {
		got, _ := json.Marshal(last.Error) // an error that was decoded encodes
		return differ("the protocol error", asJSON(want.ProtocolError), asJSON(string(got)))
	}
	if d := differ("the text", want.Text, last.Text); d != "" {
		return d
	}
	if d := differ("isError", want.IsError, last.IsError); d != "" {
		return d
	}
	return differ("the structured output", asJSON(want.Structured), asJSON(string(last.Structured)))
}

func questions(t Trial) string { return differ("the questions", t.Contract.Asks, t.Saw.Asked) }

func rounds(t Trial) string { return differ("the requests", t.Contract.Requests, t.Saw.Requests) }

func effects(t Trial) string {
	return differ("the effects", t.Contract.Effects.Of(t.Subject), t.Saw.Effects)
}

func transcript(t Trial) string {
	if t.Reference == nil {
		return ""
	}
	want, got := t.Reference.Messages, t.Saw.Messages
	for i := range min(len(want), len(got)) {
		if d := differ(fmt.Sprintf("message %d", i+1), want[i], got[i]); d != "" {
			return d
		}
	}
	return differ("the number of messages", len(want), len(got))
}

// differ describes the difference between two values, "" if they are equal. A
// nil slice equals an empty one.
func differ[T any](subject string, want, got T) string {
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if reflect.DeepEqual(want, got) || w.Kind() == reflect.Slice && w.Len()+g.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("%s\n  want: %+v\n  got:  %+v", subject, want, got)
}

// asJSON decodes a text so that it is compared by value. The order of an
// object's members is go-sdk's choice; the transcript rule holds that it is the
// same for every subject.
func asJSON(text string) any {
	var v any
	if text == "" || json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

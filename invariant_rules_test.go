package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// rule is one thing that must hold of every call. It returns what is wrong, ""
// if nothing is.
type rule struct {
	name        string
	explanation string
	broken      func(t trial) string
}

// trial is one call before the rules. The reference is the same call as the
// first subject made it, nil where that broke a rule itself: then it is what
// has to be mended, and says nothing about the others.
type trial struct {
	subject        subject
	contract       contract
	saw, reference *seen
}

// finding is a rule that a subject broke.
type finding struct {
	subject  string
	contract string
	setting  string
	rule     rule
	detail   string
}

func (f finding) String() string {
	return fmt.Sprintf("style %s: %s (%s) breaks the rule %q.\n%s\n%s", f.subject, f.contract, f.setting, f.rule.name, f.rule.explanation, f.detail)
}

var rules = []rule{
	{"result", "The call ends as its contract says: the style is how the tool is written, not what it says.", func(t trial) string {
		last, want := t.saw.last, t.contract.ends
		if want.protocolError != "" || last.Error != nil {
			got, _ := json.Marshal(last.Error)
			return differ("the protocol error", asJSON(want.protocolError), asJSON(string(got)))
		}
		if d := differ("the text", want.text, last.Text); d != "" {
			return d
		}
		if d := differ("isError", want.isError, last.IsError); d != "" {
			return d
		}
		return differ("the structured output", asJSON(want.structured), asJSON(string(last.Structured)))
	}},
	{"questions", "The client is asked what the contract lists and nothing else: keys, messages and schemas, byte for byte, in this order.", func(t trial) string {
		return differ("the questions", t.contract.asks, t.saw.asked)
	}},
	{"rounds", "A call takes as many requests as it has rounds of questions, and the one that begins it.", func(t trial) string {
		return differ("the requests", t.contract.rounds, t.saw.rounds)
	}},
	{"effects", "An effect happens as often as the contract says, however often the code above it runs.", func(t trial) string {
		return differ("the effects", t.contract.effects.of(t.subject), t.saw.effects)
	}},
	{"transcript", "No client can tell the styles apart: every frame is the reference's, but for ids and states.", func(t trial) string {
		if t.reference == nil {
			return ""
		}
		for i := range min(len(t.reference.transcript), len(t.saw.transcript)) {
			if d := differ(fmt.Sprintf("frame %d", i+1), t.reference.transcript[i], t.saw.transcript[i]); d != "" {
				return d
			}
		}
		return differ("the frames", len(t.reference.transcript), len(t.saw.transcript))
	}},
}

func differ[T any](what string, want, got T) string {
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if reflect.DeepEqual(want, got) || w.Kind() == reflect.Slice && w.Len()+g.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("%s\n  must be: %+v\n  but are: %+v", what, want, got)
}

// asJSON compares by value: in which order the SDK writes an object's members
// is its own affair, as long as it is the same in every style.
func asJSON(text string) any {
	var v any
	if text == "" || json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

// judge plays every contract with every subject and holds what it saw against
// the rules. The first subject is the reference of the transcripts.
func judge(ctx context.Context, subjects []subject, contracts []contract, in setting) ([]finding, error) {
	if len(subjects) == 0 || len(contracts) == 0 {
		return nil, errors.New("nothing to judge")
	}
	var found []finding
	for _, c := range contracts {
		reference, err := play(ctx, subjects[0], c, in)
		if err != nil {
			return nil, err
		}
		sofar, saw := len(found), reference
		for i, s := range subjects {
			if i == 1 && len(found) > sofar {
				reference = nil
			}
			if i > 0 {
				if saw, err = play(ctx, s, c, in); err != nil {
					return nil, err
				}
			}
			t := trial{s, c, saw, reference}
			for _, r := range rules {
				if detail := r.broken(t); detail != "" {
					found = append(found, finding{s.name, c.name, in.name, r, detail})
				}
			}
		}
	}
	return found, nil
}

// of is what was found about one subject.
func of(found []finding, subject string) []finding {
	return slices.DeleteFunc(slices.Clone(found), func(f finding) bool { return f.subject != subject })
}

package mrtrtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Alike checks that several ways to write a tool are one tool to its clients: a
// handler and its rewrite, or one handler in several styles. Each subject is called
// as each contract says, and must keep it: the questions, the requests, the end and the
// effects. The messages of the first subject are the reference for the others. The findings about a subject are
// reported in a subtest under its name.
func Alike(t *testing.T, subjects []Subject, contracts []Contract, opts *Options) {
	t.Helper()
	found, err := Differences(t.Context(), subjects, contracts, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range subjects {
		t.Run(s.Name, func(t *testing.T) {
			for _, d := range found {
				if d.Subject.Name == s.Name {
					t.Error(d)
				}
			}
		})
	}
}

// Difference is a rule that a subject broke in one call.
type Difference struct {
	Subject  Subject
	Contract Contract
	Options  *Options
	Saw      *Outcome
	// Rule is result, questions, rounds, effects or transcript, and Explanation says what
	// that demands of a call.
	Rule, Explanation string
	Detail            string // what was wanted, and what came
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s (%s) breaks the rule %q.\n%s\n%s",
		d.Subject.Name, d.Contract.Name, d.Options, d.Rule, d.Explanation, d.Detail)
}

// Differences is [Alike] without a test: it returns each rule that was broken.
func Differences(ctx context.Context, subjects []Subject, contracts []Contract, opts *Options) ([]Difference, error) {
	if len(subjects) == 0 || len(contracts) == 0 {
		return nil, errors.New("mrtrtest: no subject or no contract to judge")
	}
	var all []Difference
	for _, c := range contracts {
		var reference *Outcome
		for i, s := range subjects {
			saw, err := Play(ctx, s.Build, c.Script, opts)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.Name, c.Name, err)
			}
			found := trial{s, c, saw, reference}.judge(opts)
			if i == 0 && len(found) == 0 {
				reference = saw
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

func (t trial) judge(opts *Options) (found []Difference) {
	for _, r := range alikeRules {
		if detail := r.broken(t); detail != "" {
			found = append(found, Difference{t.subject, t.contract, opts, t.saw, r.name, r.explanation, detail})
		}
	}
	return found
}

// Subject is one way to write the tool.
type Subject struct {
	Name string
	// Early is a subject whose effect stands among the questions, as soon as everything it
	// needs is known, and not below the last of them. A call that stops half way may then have
	// had its effect.
	Early bool
	Build Build
}

// Contract is one call and its outcome, as far as it is judged.
type Contract struct {
	Name string
	Script

	Asks     []Question // all questions to the client, in order
	Requests int        // of the client, in all
	Ends     Ending
	// Effects are those of the call, in order, and EarlyEffects those of a subject that
	// is Early.
	Effects, EarlyEffects []string
	// EarlyStands is what the text of an error says behind Ends.Text where the subject is Early:
	// which effects stand.
	EarlyStands string
}

func (q Question) String() string {
	return fmt.Sprintf("%s: %s %q %s%s", q.Key, q.Method, q.Message, q.Schema, q.URL)
}

// Ending is the last reply of a call: a result or, if ProtocolError is set,
// a JSON-RPC error.
type Ending struct {
	Text       string
	Structured string // JSON, compared by value
	IsError    bool

	ProtocolError string // JSON, compared by value
}

// alikeRule is one thing that must hold of every call of [Alike].
type alikeRule struct {
	name, explanation string
	broken            func(trial) string // how the call breaks the rule; "" if it keeps it
}

// trial is one call under the rules.
type trial struct {
	subject  Subject
	contract Contract
	saw      *Outcome
	// reference is the same call made by the first subject. It is nil if that
	// call broke a rule: then the first subject is reported, and the others are
	// not compared with it.
	reference *Outcome
}

// alikeRules are all rules, in the order in which they are checked.
var alikeRules = []alikeRule{
	{"result", "A call ends as its contract says, however the tool is written.", result},
	{"questions", "The client is asked the questions of the contract and no others: the same keys, messages and schemas, byte for byte, in the same order.", questions},
	{"rounds", "A modern call takes one request, and one more for each round of questions; a legacy call takes one.", rounds},
	{"effects", "An effect happens as often as the contract says, however often the code around it runs.", effects},
	{"transcript", "No client can tell two subjects apart: their messages are the same but for ids and states.", transcript},
}

func result(t trial) string {
	last, want := t.saw, t.contract.Ends
	if want.ProtocolError != "" || last.Error != nil {
		got, _ := json.Marshal(last.Error) // an error that was decoded encodes
		return differ("the protocol error", asJSON(want.ProtocolError), asJSON(string(got)))
	}
	if d := differ("the text", want.Text+t.stands(), last.Text); d != "" {
		return d
	}
	if d := differ("isError", want.IsError, last.IsError); d != "" {
		return d
	}
	return differ("the structured output", asJSON(want.Structured), asJSON(string(last.Structured)))
}

// stands is what the call's text says of its effects.
func (t trial) stands() string {
	if t.subject.Early {
		return t.contract.EarlyStands
	}
	return ""
}

func questions(t trial) string { return differ("the questions", t.contract.Asks, t.saw.Asked) }

func rounds(t trial) string { return differ("the requests", t.contract.Requests, t.saw.Requests) }

func effects(t trial) string {
	want := t.contract.Effects
	if t.subject.Early {
		want = t.contract.EarlyEffects
	}
	return differ("the effects", want, t.saw.Effects)
}

func transcript(t trial) string {
	if t.reference == nil {
		return ""
	}
	want, got := t.comparable(t.reference.Messages), t.comparable(t.saw.Messages)
	for i := range min(len(want), len(got)) {
		if d := differ(fmt.Sprintf("message %d", i+1), want[i], got[i]); d != "" {
			return d
		}
	}
	return differ("the number of messages", len(want), len(got))
}

// comparable are messages without the sentence that tells an Early subject from the others.
func (t trial) comparable(messages []string) (all []string) {
	encoded, _ := json.Marshal(t.contract.EarlyStands) // strings always encode
	sentence := strings.Trim(string(encoded), `"`)
	for _, message := range messages {
		if sentence != "" {
			message = strings.ReplaceAll(message, sentence, "")
		}
		all = append(all, message)
	}
	return all
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

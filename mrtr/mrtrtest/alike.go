package mrtrtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// Alike checks that several ways to write a tool are one tool to its clients: a
// handler and its rewrite, or one handler in several styles. Each subject is called
// as each contract says, and judged by the [AlikeRules]; the messages of the first
// subject are the reference for the others. The findings about a subject are
// reported in a subtest under its name.
func Alike(t *testing.T, subjects []Subject, contracts []Contract, opts *Options) {
	t.Helper()
	found, err := Differences(t.Context(), subjects, contracts, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range subjects {
		t.Run(s.Name, func(t *testing.T) {
			for _, f := range DifferencesOf(found, s.Name) {
				t.Error(f)
			}
		})
	}
}

// Difference is a rule that a subject broke in one call.
type Difference struct {
	Trial
	Options *Options
	Rule    AlikeRule
	Detail  string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s (%s) breaks the rule %q.\n%s\n%s",
		d.Subject.Name, d.Contract.Name, d.Options, d.Rule.Name, d.Rule.Explanation, d.Detail)
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
			found := Trial{s, c, saw, reference}.judge(opts)
			if i == 0 && len(found) == 0 {
				reference = saw
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

func (t Trial) judge(opts *Options) (found []Difference) {
	for _, r := range AlikeRules() {
		if detail := r.Broken(t); detail != "" {
			found = append(found, Difference{t, opts, r, detail})
		}
	}
	return found
}

// DifferencesOf selects those of one subject.
func DifferencesOf(found []Difference, subject string) []Difference {
	return slices.DeleteFunc(slices.Clone(found), func(d Difference) bool { return d.Subject.Name != subject })
}

// Subject is one way to write the tool.
type Subject struct {
	Name string
	// EffectAt is where in the code the tool's effect stands.
	EffectAt Position
	Build    Build
}

// Position is where an effect stands among the questions. It decides whether a
// call that stops half way has had its effect.
type Position int

const (
	// AtEnd is below the last question.
	AtEnd Position = iota
	// BetweenQuestions is as early as everything the effect needs is known.
	BetweenQuestions
)

// Effects says how often a call has the tool's effect, for each position, and
// under which name.
type Effects struct {
	Name                    string
	AtEnd, BetweenQuestions int
}

// Of lists the effects that a call of this subject must have.
func (e Effects) Of(s Subject) []string {
	n := e.AtEnd
	if s.EffectAt == BetweenQuestions {
		n = e.BetweenQuestions
	}
	return slices.Repeat([]string{e.Name}, n)
}

// Contract is one call and its outcome, as far as it is judged.
type Contract struct {
	Name string
	Script

	Asks     []Question // all questions to the client, in order
	Requests int        // of the client, in all
	Ends     Ending
	Effects  Effects
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

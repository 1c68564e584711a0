package mrtrtest

import (
	"context"
	"errors"
	"fmt"
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

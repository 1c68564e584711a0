package invariant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// Finding is a rule that a subject broke in one call.
type Finding struct {
	Trial
	Setting Setting
	Rule    Rule
	Detail  string
}

func (f Finding) String() string {
	return fmt.Sprintf("style %s: %s (%s) breaks the rule %q.\n%s\n%s",
		f.Subject.Name, f.Contract.Name, f.Setting.Name, f.Rule.Name, f.Rule.Explanation, f.Detail)
}

// Judge plays every contract with every subject and returns each rule that was
// broken. The messages of the first subject are the reference for the others.
func Judge(ctx context.Context, subjects []Subject, contracts []Contract, in Setting) ([]Finding, error) {
	if len(subjects) == 0 || len(contracts) == 0 {
		return nil, errors.New("invariant: no subject or no contract to judge")
	}
	var all []Finding
	for _, c := range contracts {
		var reference *Observation
		for i, s := range subjects {
			saw, err := Play(ctx, s, c, in)
			if err != nil {
				return nil, err
			}
			found := apply(Trial{s, c, saw, reference}, in)
			if i == 0 && len(found) == 0 {
				reference = saw
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

func apply(t Trial, in Setting) (found []Finding) {
	for _, r := range Rules() {
		if detail := r.Broken(t); detail != "" {
			found = append(found, Finding{t, in, r, detail})
		}
	}
	return found
}

// Of selects the findings about one subject.
func Of(found []Finding, subject string) []Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return f.Subject.Name != subject })
}

// Run judges the subjects and reports the findings about each in a subtest
// under its name.
func Run(t *testing.T, subjects []Subject, contracts []Contract, in Setting) {
	t.Helper()
	found, err := Judge(t.Context(), subjects, contracts, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range subjects {
		t.Run(s.Name, func(t *testing.T) {
			for _, f := range Of(found, s.Name) {
				t.Error(f)
			}
		})
	}
}

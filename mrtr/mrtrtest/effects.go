package mrtrtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Count is how often the call had the effect of this name.
func (o *Outcome) Count(name string) int {
	n := 0
	for _, effect := range o.Effects {
		if effect == name {
			n++
		}
	}
	return n
}

// WantEffects fails the test unless the call had these effects and no others, in
// this order. The failure says in which request each of them happened.
func (o *Outcome) WantEffects(t testing.TB, names ...string) {
	t.Helper()
	if slices.Equal(names, o.Effects) {
		return
	}
	want := "none"
	if len(names) > 0 {
		want = strings.Join(names, ", ")
	}
	t.Errorf("the effects of a call that made %d requests\n  want: %s\n  got:  %s", o.Requests, want, o.whereEffects())
}

// whereEffects lists the effects with the request of each.
func (o *Outcome) whereEffects() string {
	if len(o.effects) == 0 {
		return "none"
	}
	var got []string
	for _, e := range o.effects {
		got = append(got, fmt.Sprintf("%s (request %d)", e.name, e.request))
	}
	return strings.Join(got, ", ")
}

package options

import (
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// place is a place with its weather.
type place struct {
	name       string
	celsius    int
	fahrenheit int
	conditions string
}

var places = []place{
	{"Lisbon", 22, 72, "partly cloudy"},
	{"Tokyo", 26, 79, "light rain"},
	{"Reykjavik", 4, 39, "overcast"},
	{"Springfield, Illinois", 18, 64, "clear"},
	{"Springfield, Massachusetts", 12, 54, "fog"},
	{"Springfield, Missouri", 21, 70, "sunny"},
}

// Places lists the full names of all places.
func Places() []string {
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.name
	}
	return names
}

// Find lists the full names of the places that a name fits: a full name, or the
// name of a city without its state. If there are none, the error is
// [UnknownPlace].
func Find(name string) ([]string, error) {
	name = strings.TrimSpace(name)
	var found []string
	for _, p := range places {
		city, _, _ := strings.Cut(p.name, ",")
		if strings.EqualFold(name, p.name) || strings.EqualFold(name, city) {
			found = append(found, p.name)
		}
	}
	if len(found) == 0 {
		return nil, &UnknownPlace{Name: name}
	}
	return found, nil
}

// UnknownPlace is the weather's own error type. Its methods describe it to
// package boundary, which knows nothing of the weather.
type UnknownPlace struct{ Name string }

func (e *UnknownPlace) Error() string {
	return "Unknown place. Nearest: " + strings.Join(e.nearest(), ", ") + "."
}

// ToolErrorType is the kind of error, for agents.
func (e *UnknownPlace) ToolErrorType() string { return "not_found" }

// ToolErrorExpected is true: the caller can correct the place.
func (e *UnknownPlace) ToolErrorExpected() bool { return true }

// ToolErrorHints says how the caller can go on.
func (e *UnknownPlace) ToolErrorHints() []string {
	return []string{"Call again with one of the nearest places."}
}

// ToolErrorSelector is the argument that matched no place, and the nearest
// values that match one.
func (e *UnknownPlace) ToolErrorSelector() (selector string, candidates []string) {
	return "location", e.nearest()
}

// nearest are the three places whose spelling is nearest to the name.
func (e *UnknownPlace) nearest() []string {
	names := Places()
	typed := strings.ToLower(e.Name[:min(len(e.Name), maxTyped)])
	distance := func(name string) int {
		name = strings.ToLower(name)
		city, _, _ := strings.Cut(name, ",")
		return min(spelling.Distance(typed, name), spelling.Distance(typed, city))
	}
	slices.SortStableFunc(names, func(a, b string) int { return distance(a) - distance(b) })
	return names[:3]
}

// maxTyped limits how much of a name is compared. It is longer than any place,
// and keeps the comparison cheap for any input.
const maxTyped = 64

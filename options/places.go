package options

import (
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// place is what the station knows of a place.
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

// Find lists the full names of the places that a name fits: those that are
// called so, or whose city is. It is [UnknownPlace] if there are none.
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

// UnknownPlace is the weather's own error. It says by its methods what kind of
// error it is, so that a layer outside can tell without knowing the weather.
type UnknownPlace struct{ Name string }

func (e *UnknownPlace) Error() string {
	return "Unknown place. Nearest: " + strings.Join(e.nearest(), ", ") + "."
}

// ToolErrorType names the error for agents.
func (e *UnknownPlace) ToolErrorType() string { return "not_found" }

// ToolErrorExpected is true: the caller can pick another place.
func (e *UnknownPlace) ToolErrorExpected() bool { return true }

// ToolErrorHints tells the caller how to go on.
func (e *UnknownPlace) ToolErrorHints() []string {
	return []string{"Call again with one of the nearest places."}
}

// ToolErrorSelector tells which argument selected nothing, and what would.
func (e *UnknownPlace) ToolErrorSelector() (selector string, candidates []string) {
	return "location", e.nearest()
}

// nearest is the three places that are written most like the name.
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

// maxTyped is how much of a name is compared: more than any place has, and
// little enough for any input.
const maxTyped = 64

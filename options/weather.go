package options

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/spelling"
	"github.com/mrtr-go/sdk/mrtr"
)

// Query is the tool's input.
type Query struct {
	Location string `json:"location" jsonschema:"the name of a place"`
}

// Report is the tool's output.
type Report struct {
	Location    string `json:"location"`
	Temperature int    `json:"temperature"`
	Unit        string `json:"unit"`
	Conditions  string `json:"conditions"`
}

// Text is the report as a sentence.
func (r Report) Text() string {
	return fmt.Sprintf("Weather in %s: %d°%s, %s.", r.Location, r.Temperature, r.Unit, r.Conditions)
}

// Handler is the type of every style: go-sdk's own handler type.
type Handler = mcp.ToolHandlerFor[Query, Report]

// WhichPlace asks which of several places is meant. If the name fits one place,
// the question is already answered.
func WhichPlace(name string) (mrtr.Question[string], error) {
	found, err := Find(name)
	switch {
	case err != nil:
		return mrtr.Question[string]{}, err
	case len(found) == 1:
		return mrtr.Known(found[0]), nil
	}
	city, _, _ := strings.Cut(found[0], ",")
	return mrtr.Choose("place", "Which "+city+"?", mrtr.Choices(found...)...), nil
}

// Units asks for the units.
var Units = mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...).Default("metric")

// Always are the questions that every call asks. The styles give them to the engine,
// so that a client that cannot be asked is refused before anything is looked up.
var Always = []mrtr.AnyQuestion{Units}

// NewReport is the weather at a place.
func NewReport(name, units string) Report {
	for _, p := range places {
		switch {
		case p.name != name:
		case units == "imperial":
			return Report{name, p.fahrenheit, "F", p.conditions}
		default:
			return Report{name, p.celsius, "C", p.conditions}
		}
	}
	return Report{Location: name}
}

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

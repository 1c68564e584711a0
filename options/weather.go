package options

import (
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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

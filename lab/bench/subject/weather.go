package main

import (
	"errors"
	"fmt"
)

// The tool weather asks for the units, so it takes two requests. The tool sky asks nothing.
// Both are the same for every server. Any other tools are there to be listed.

type query struct {
	Location string `json:"location" jsonschema:"the name of a place"`
	Notes    string `json:"notes,omitempty" jsonschema:"anything else"`
}

type report struct {
	Location    string `json:"location"`
	Temperature int    `json:"temperature"`
	Unit        string `json:"unit"`
	Conditions  string `json:"conditions"`
}

func (r report) Text() string {
	return fmt.Sprintf("Weather in %s: %d°%s, %s.", r.Location, r.Temperature, r.Unit, r.Conditions)
}

var places = map[string]report{"Lisbon": {"Lisbon", 22, "C", "partly cloudy"}}

func find(q query) (report, error) {
	place, ok := places[q.Location]
	if !ok {
		return report{}, errors.New("no such place")
	}
	return place, nil
}

// in is the report in the units that the user chose.
func (r report) in(units string) (report, error) {
	switch units {
	case "metric":
	case "imperial":
		r.Temperature, r.Unit = r.Temperature*9/5+32, "F"
	default:
		return report{}, errors.New("not units")
	}
	return r, nil
}

const whichUnits = "Which units?"

var unitsSchema = []byte(`{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`)

// others are the names of the tools that are only listed.
func others(tools int) (names []string) {
	for i := 2; i < tools; i++ {
		names = append(names, fmt.Sprintf("tool-%d", i))
	}
	return names
}

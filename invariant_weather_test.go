package sdk_test

import (
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/statecodec"
)

// weather is the tool of all contracts below, under the one name that every
// style is served by here: names are how people tell the styles apart.
const weather = "weather"

// audits says where each style has its audit: below the last guard, by
// discipline or by structure, or between the two questions.
var audits = map[string]place{
	"native": atEnd, "sse_shim": atEnd, "version_branch": atEnd, "two_handlers": atEnd, "steps": atEnd,
	"once": between, "coroutine": between, "journal": between, "await": between, "naive": between,
}

// styles are the options and exhibits of these names, as subjects.
func styles(names ...string) []subject {
	var subjects []subject
	for _, o := range slices.Concat(options.All, landmine.All) {
		if slices.Contains(names, o.Name) {
			subjects = append(subjects, subjectOf(o.Name, audits[o.Name], o.New))
		}
	}
	if len(subjects) != len(names) {
		panic(fmt.Sprintf("of the styles %q there are only %d", names, len(subjects)))
	}
	return subjects
}

// allStyles are the options, without the exhibits.
func allStyles() []subject {
	var names []string
	for _, o := range options.All {
		names = append(names, o.Name)
	}
	return styles(names...)
}

// schemas spares the many servers of these tests from working out the
// same two schemas each; they share nothing else but, by subject, the key.
var schemas = mcp.NewSchemaCache()

func subjectOf(name string, effectAt place, handler func(*mrtr.Runtime, *options.Audit) options.Handler) subject {
	key := statecodec.GenerateKey()
	return subject{name, effectAt, func(effect func(string)) (*mcp.Server, func() error, error) {
		rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}})
		if err != nil {
			return nil, nil, err
		}
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{SchemaCache: schemas})
		mcp.AddTool(server, &mcp.Tool{Name: weather}, handler(rt, &options.Audit{Out: effect}))
		return server, rt.Close, nil
	}}
}

var (
	placeAsk = ask{"place", "Which Springfield?", `{"type":"object","properties":{"place":{"type":"string",` +
		`"enum":["Springfield, Illinois","Springfield, Massachusetts","Springfield, Missouri"]}},"required":["place"]}`}
	unitsAsk = ask{"units", "Which units?", `{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`}
)

// noting is the question as it is asked again, with what was wrong.
func (a ask) noting(note string) ask {
	a.message += "\n\n" + note
	return a
}

const (
	placeMisfit = `The answer did not fit: place must be one of the choices.`
	unitsMisfit = `The answer did not fit: units must be one of the choices.`
	noAction    = "Please accept, decline or cancel."
	otherKind   = "The answer was of another kind than the question."
)

var (
	metric, imperial = wire.Value("metric"), wire.Value("imperial")
	kelvin, ohio     = wire.Value("kelvin"), wire.Value("Springfield, Ohio")
	missouri         = wire.Value("Springfield, Missouri")
	banana           = wire.Raw(`{"action":"banana"}`)
	contentless      = wire.Raw(`{"action":"accept"}`)
	roots            = wire.Raw(`{"roots":[]}`)
)

func at(location string) wire.Request {
	return wire.Request{Name: weather, Arguments: map[string]any{"location": location}}
}

func report(text, structured string) ending { return ending{text: text, structured: structured} }

func stopped(text string) ending { return ending{text: text, isError: true} }

var (
	lisbonMetric     = report("Weather in Lisbon: 22°C, partly cloudy.", `{"location":"Lisbon","temperature":22,"unit":"C","conditions":"partly cloudy"}`)
	lisbonImperial   = report("Weather in Lisbon: 72°F, partly cloudy.", `{"location":"Lisbon","temperature":72,"unit":"F","conditions":"partly cloudy"}`)
	missouriMetric   = report("Weather in Springfield, Missouri: 21°C, sunny.", `{"location":"Springfield, Missouri","temperature":21,"unit":"C","conditions":"sunny"}`)
	missouriImperial = report("Weather in Springfield, Missouri: 70°F, sunny.", `{"location":"Springfield, Missouri","temperature":70,"unit":"F","conditions":"sunny"}`)
	unknownPlace     = stopped("Unknown place. Nearest: Lisbon, Tokyo, Reykjavik.")
)

// completed is what every style has done when a call is complete. noUnits is
// what it has done when the place is known and the call stops at the units: a
// style that audits between the questions has, one that audits at the end has
// not. Before the place is known, nobody has done anything.
func completed(name string) effects { return effects{"looked up " + name, 1, 1} }
func noUnits(name string) effects   { return effects{"looked up " + name, 0, 1} }

var nothing = effects{}

func asking(asks ...ask) []ask { return asks }

type script map[string][]wire.Answer

// modernContracts is the tool's behaviour towards clients of 2026-07-28.
func modernContracts() []contract {
	const lisbon, springfield = "Lisbon", "Springfield, Missouri"
	list := []contract{
		{"Lisbon, metric", at(lisbon), script{"units": {metric}}, asking(unitsAsk), 2, lisbonMetric, completed(lisbon)},
		{"Lisbon, imperial", at(lisbon), script{"units": {imperial}}, asking(unitsAsk), 2, lisbonImperial, completed(lisbon)},
		{"Lisbon, declined at units", at(lisbon), script{"units": {wire.Decline}}, asking(unitsAsk), 2, stopped(`Stopped: "units" was declined.`), noUnits(lisbon)},
		{"Lisbon, cancelled at units", at(lisbon), script{"units": {wire.Cancel}}, asking(unitsAsk), 2, stopped(`Stopped: "units" was cancelled.`), noUnits(lisbon)},
		{"Lisbon, units missing first", at(lisbon), script{"units": {wire.Missing, metric}}, asking(unitsAsk, unitsAsk), 3, lisbonMetric, completed(lisbon)},
		{"Lisbon, units of no such value first", at(lisbon), script{"units": {kelvin, imperial}}, asking(unitsAsk, unitsAsk.noting(unitsMisfit)), 3, lisbonImperial, completed(lisbon)},
		{"Lisbon, units without content first", at(lisbon), script{"units": {contentless, metric}}, asking(unitsAsk, unitsAsk.noting(unitsMisfit)), 3, lisbonMetric, completed(lisbon)},
		{"Lisbon, units with no such action first", at(lisbon), script{"units": {banana, metric}}, asking(unitsAsk, unitsAsk.noting(noAction)), 3, lisbonMetric, completed(lisbon)},
		{"Lisbon, units answered with roots first", at(lisbon), script{"units": {roots, metric}}, asking(unitsAsk, unitsAsk.noting(otherKind)), 3, lisbonMetric, completed(lisbon)},
		{"Lisbon, units never answered", at(lisbon), script{"units": {wire.Missing}}, asking(unitsAsk, unitsAsk, unitsAsk, unitsAsk), 5,
			stopped(`Stopped: "units" was asked 4 times without a usable answer.`), noUnits(lisbon)},

		{"Springfield, metric", at("Springfield"), script{"place": {missouri}, "units": {metric}}, asking(placeAsk, unitsAsk), 3, missouriMetric, completed(springfield)},
		{"Springfield, imperial", at("Springfield"), script{"place": {missouri}, "units": {imperial}}, asking(placeAsk, unitsAsk), 3, missouriImperial, completed(springfield)},
		{"Springfield, declined at place", at("Springfield"), script{"place": {wire.Decline}}, asking(placeAsk), 2, stopped(`Stopped: "place" was declined.`), nothing},
		{"Springfield, cancelled at place", at("Springfield"), script{"place": {wire.Cancel}}, asking(placeAsk), 2, stopped(`Stopped: "place" was cancelled.`), nothing},
		{"Springfield, declined at units", at("Springfield"), script{"place": {missouri}, "units": {wire.Decline}}, asking(placeAsk, unitsAsk), 3,
			stopped(`Stopped: "units" was declined.`), noUnits(springfield)},
		{"Springfield, cancelled at units", at("Springfield"), script{"place": {missouri}, "units": {wire.Cancel}}, asking(placeAsk, unitsAsk), 3,
			stopped(`Stopped: "units" was cancelled.`), noUnits(springfield)},
		{"Springfield, place missing first", at("Springfield"), script{"place": {wire.Missing, missouri}, "units": {metric}},
			asking(placeAsk, placeAsk, unitsAsk), 4, missouriMetric, completed(springfield)},
		{"Springfield, units missing first", at("Springfield"), script{"place": {missouri}, "units": {wire.Missing, metric}},
			asking(placeAsk, unitsAsk, unitsAsk), 4, missouriMetric, completed(springfield)},
		{"Springfield, place of no such value first", at("Springfield"), script{"place": {ohio, missouri}, "units": {imperial}},
			asking(placeAsk, placeAsk.noting(placeMisfit), unitsAsk), 4, missouriImperial, completed(springfield)},
		{"Springfield, units of no such value first", at("Springfield"), script{"place": {missouri}, "units": {kelvin, imperial}},
			asking(placeAsk, unitsAsk, unitsAsk.noting(unitsMisfit)), 4, missouriImperial, completed(springfield)},
		{"Springfield, both of no such value first", at("Springfield"), script{"place": {ohio, missouri}, "units": {kelvin, metric}},
			asking(placeAsk, placeAsk.noting(placeMisfit), unitsAsk, unitsAsk.noting(unitsMisfit)), 5, missouriMetric, completed(springfield)},
	}
	for how, answer := range map[string]wire.Answer{
		"metric": metric, "imperial": imperial, "declined": wire.Decline, "cancelled": wire.Cancel, "missing": wire.Missing, "invalid": kelvin,
	} {
		list = append(list, contract{"unknown place, " + how, at("Atlantis"), script{"place": {answer}, "units": {answer}}, nil, 1, unknownPlace, nothing})
	}
	return list
}

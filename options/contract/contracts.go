package contract

import (
	"fmt"
	"strings"

	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
)

// row is a contract of the weather tool, on one line.
type row struct {
	name     string
	location string
	answers  script
	asks     []mrtrtest.Question
	requests int
	ends     mrtrtest.Ending
	effects  effects
}

// effects are those of a style that has them below its last question, and of one that has them
// as early as it can, with the key of the one that then stands.
type effects struct {
	atEnd, early []string
	key          string
}

// stands is what an error says of an early effect behind its text.
func (e effects) stands(ends mrtrtest.Ending) string {
	if !ends.IsError || len(e.early) == 0 {
		return ""
	}
	sentence := fmt.Sprintf(" %q was done: do not call the tool again without checking.", e.key)
	if !strings.HasSuffix(ends.Text, ".") {
		sentence = "." + sentence
	}
	return sentence
}

// script keeps the rows short.
type script = mrtrtest.Answers

func contractsOf(rows []row) []mrtrtest.Contract {
	var contracts []mrtrtest.Contract
	for _, r := range rows {
		contracts = append(contracts, mrtrtest.Contract{
			Name: r.name, Script: mrtrtest.Script{Tool: weather, Arguments: map[string]any{"location": r.location}, Answers: r.answers},
			Asks: r.asks, Requests: r.requests, Ends: r.ends,
			Effects: r.effects.atEnd, EarlyEffects: r.effects.early, EarlyStands: r.effects.stands(r.ends),
		})
	}
	return contracts
}

var (
	placeAsk = mrtrtest.Question{Key: "place", Method: "elicitation/create", Message: "Which Springfield?", Schema: `{"type":"object","properties":{"place":{"type":"string",` +
		`"enum":["Springfield, Illinois","Springfield, Massachusetts","Springfield, Missouri"]}},"required":["place"]}`}
	unitsAsk = mrtrtest.Question{Key: "units", Method: "elicitation/create", Message: "Which units?", Schema: `{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`}
)

// asAgain is the question as it is asked again, with a note on the answer.
func asAgain(q mrtrtest.Question, note string) mrtrtest.Question {
	q.Message += "\n\n" + note
	return q
}

const (
	placeMisfit = `The answer did not fit: place must be one of the choices.`
	unitsMisfit = `The answer did not fit: units must be one of the choices.`
	unitsEmpty  = unitsMisfit + ` If you saw nothing to fill in, this client does not seem to show forms.`
	noAction    = "Please accept, decline or cancel."
	otherKind   = "The answer was of another kind than the question."
)

var (
	metric, imperial = mrtrtest.Value("metric"), mrtrtest.Value("imperial")
	kelvin, ohio     = mrtrtest.Value("kelvin"), mrtrtest.Value("Springfield, Ohio")
	missouri         = mrtrtest.Value("Springfield, Missouri")
	banana           = mrtrtest.Raw(`{"action":"banana"}`)
	contentless      = mrtrtest.Raw(`{"action":"accept"}`)
	roots            = mrtrtest.Raw(`{"roots":[]}`)
)

func report(text, structured string) mrtrtest.Ending {
	return mrtrtest.Ending{Text: text, Structured: structured}
}

func stopped(text string) mrtrtest.Ending { return mrtrtest.Ending{Text: text, IsError: true} }

func Refused(key, lacks string) mrtrtest.Ending {
	return stopped(`This client cannot be asked for "` + key + `": it lacks ` + lacks)
}

var (
	lisbonMetric     = report("Weather in Lisbon: 22°C, partly cloudy.", `{"location":"Lisbon","temperature":22,"unit":"C","conditions":"partly cloudy"}`)
	lisbonImperial   = report("Weather in Lisbon: 72°F, partly cloudy.", `{"location":"Lisbon","temperature":72,"unit":"F","conditions":"partly cloudy"}`)
	missouriMetric   = report("Weather in Springfield, Missouri: 21°C, sunny.", `{"location":"Springfield, Missouri","temperature":21,"unit":"C","conditions":"sunny"}`)
	missouriImperial = report("Weather in Springfield, Missouri: 70°F, sunny.", `{"location":"Springfield, Missouri","temperature":70,"unit":"F","conditions":"sunny"}`)
	unknownPlace     = stopped("Unknown place. Nearest: Lisbon, Tokyo, Reykjavik.")
)

// completed are the effects of a call that completes; noUnits those of one that
// stops at the units: a style that charges between the questions has charged by
// then. A call that stops before the place is known has charged nothing.
func completed(place string) effects {
	return effects{atEnd: []string{"charged the card for " + place}, early: []string{"charged the card for " + place}}
}

func noUnits(place string) effects {
	return effects{early: []string{"charged the card for " + place}, key: "charge"}
}

var nothing = effects{}

func asking(questions ...mrtrtest.Question) []mrtrtest.Question { return questions }

// ModernContracts are the calls of clients of 2026-07-28.
func ModernContracts() []mrtrtest.Contract {
	const lisbon, springfield = "Lisbon", "Springfield, Missouri"
	rows := []row{
		{"Lisbon, metric", lisbon, script{"units": {metric}}, asking(unitsAsk), 2, lisbonMetric, completed(lisbon)},
		{"Lisbon, imperial", lisbon, script{"units": {imperial}}, asking(unitsAsk), 2, lisbonImperial, completed(lisbon)},
		{"Lisbon, declined at units", lisbon, script{"units": {mrtrtest.Decline}}, asking(unitsAsk), 2, stopped(`Stopped: "units" was declined.`), noUnits(lisbon)},
		{"Lisbon, cancelled at units", lisbon, script{"units": {mrtrtest.Cancel}}, asking(unitsAsk), 2, stopped(`Stopped: "units" was cancelled.`), noUnits(lisbon)},
		{"Lisbon, units missing first", lisbon, script{"units": {mrtrtest.Missing, metric}}, asking(unitsAsk, unitsAsk), 3, lisbonMetric, completed(lisbon)},
		{"Lisbon, units of no such value first", lisbon, script{"units": {kelvin, imperial}}, asking(unitsAsk, asAgain(unitsAsk, unitsMisfit)), 3, lisbonImperial, completed(lisbon)},
		{"Lisbon, units without content first", lisbon, script{"units": {contentless, metric}}, asking(unitsAsk, asAgain(unitsAsk, unitsEmpty)), 3, lisbonMetric, completed(lisbon)},
		{"Lisbon, units with no such action first", lisbon, script{"units": {banana, metric}}, asking(unitsAsk, asAgain(unitsAsk, noAction)), 3, lisbonMetric, completed(lisbon)},
		{"Lisbon, units answered with roots first", lisbon, script{"units": {roots, metric}}, asking(unitsAsk, asAgain(unitsAsk, otherKind)), 3, lisbonMetric, completed(lisbon)},
		{"Lisbon, units never answered", lisbon, script{"units": {mrtrtest.Missing}}, asking(unitsAsk, unitsAsk, unitsAsk, unitsAsk), 5,
			stopped(`Stopped: "units" was asked 4 times without a usable answer.`), noUnits(lisbon)},

		{"Springfield, metric", "Springfield", script{"place": {missouri}, "units": {metric}}, asking(placeAsk, unitsAsk), 3, missouriMetric, completed(springfield)},
		{"Springfield, imperial", "Springfield", script{"place": {missouri}, "units": {imperial}}, asking(placeAsk, unitsAsk), 3, missouriImperial, completed(springfield)},
		{"Springfield, declined at place", "Springfield", script{"place": {mrtrtest.Decline}}, asking(placeAsk), 2, stopped(`Stopped: "place" was declined.`), nothing},
		{"Springfield, cancelled at place", "Springfield", script{"place": {mrtrtest.Cancel}}, asking(placeAsk), 2, stopped(`Stopped: "place" was cancelled.`), nothing},
		{"Springfield, declined at units", "Springfield", script{"place": {missouri}, "units": {mrtrtest.Decline}}, asking(placeAsk, unitsAsk), 3,
			stopped(`Stopped: "units" was declined.`), noUnits(springfield)},
		{"Springfield, cancelled at units", "Springfield", script{"place": {missouri}, "units": {mrtrtest.Cancel}}, asking(placeAsk, unitsAsk), 3,
			stopped(`Stopped: "units" was cancelled.`), noUnits(springfield)},
		{"Springfield, place missing first", "Springfield", script{"place": {mrtrtest.Missing, missouri}, "units": {metric}},
			asking(placeAsk, placeAsk, unitsAsk), 4, missouriMetric, completed(springfield)},
		{"Springfield, units missing first", "Springfield", script{"place": {missouri}, "units": {mrtrtest.Missing, metric}},
			asking(placeAsk, unitsAsk, unitsAsk), 4, missouriMetric, completed(springfield)},
		{"Springfield, place of no such value first", "Springfield", script{"place": {ohio, missouri}, "units": {imperial}},
			asking(placeAsk, asAgain(placeAsk, placeMisfit), unitsAsk), 4, missouriImperial, completed(springfield)},
		{"Springfield, units of no such value first", "Springfield", script{"place": {missouri}, "units": {kelvin, imperial}},
			asking(placeAsk, unitsAsk, asAgain(unitsAsk, unitsMisfit)), 4, missouriImperial, completed(springfield)},
		{"Springfield, both of no such value first", "Springfield", script{"place": {ohio, missouri}, "units": {kelvin, metric}},
			asking(placeAsk, asAgain(placeAsk, placeMisfit), unitsAsk, asAgain(unitsAsk, unitsMisfit)), 5, missouriMetric, completed(springfield)},
	}
	for how, answer := range map[string]mrtrtest.Answer{
		"metric": metric, "imperial": imperial, "declined": mrtrtest.Decline, "cancelled": mrtrtest.Cancel, "missing": mrtrtest.Missing, "invalid": kelvin,
	} {
		rows = append(rows, row{"unknown place, " + how, "Atlantis", script{"place": {answer}, "units": {answer}}, nil, 1, unknownPlace, nothing})
	}
	return contractsOf(rows)
}

// LegacyContracts are the modern calls in one request, with two differences. A client that
// leaves a question unanswered must say so with an error, which ends the call. And an answer
// is of the kind of its question, whatever is in it.
func LegacyContracts() []mrtrtest.Contract {
	const lisbon, springfield = "Lisbon", "Springfield, Missouri"
	again := asAgain(unitsAsk, unitsMisfit)
	return append(inOneRequest(ModernContracts()), contractsOf([]row{
		{"Lisbon, units missing", lisbon, script{"units": {mrtrtest.Missing}}, asking(unitsAsk), 1, unansweredBy("units"), noUnits(lisbon)},
		{"Lisbon, units never of any use", lisbon, script{"units": {kelvin}}, asking(unitsAsk, again, again, again), 1,
			stopped(`Stopped: "units" was asked 4 times without a usable answer.`), noUnits(lisbon)},
		{"Lisbon, units answered with roots first", lisbon, script{"units": {roots, metric}}, asking(unitsAsk, asAgain(unitsAsk, noAction)), 1, lisbonMetric, completed(lisbon)},
		{"Springfield, place missing", "Springfield", script{"place": {mrtrtest.Missing}}, asking(placeAsk), 1, unansweredBy("place"), nothing},
		{"Springfield, units missing", "Springfield", script{"place": {missouri}, "units": {mrtrtest.Missing}}, asking(placeAsk, unitsAsk), 1,
			unansweredBy("units"), noUnits(springfield)},
	})...)
}

// inOneRequest are the contracts as a legacy client keeps them, which is asked while its
// one request is open. Those that differ are not among them.
func inOneRequest(modern []mrtrtest.Contract) (contracts []mrtrtest.Contract) {
	for _, c := range modern {
		switch name := c.Name; {
		case strings.HasSuffix(name, "missing first"), strings.HasSuffix(name, "never answered"), strings.HasSuffix(name, "with roots first"):
		default:
			c.Requests = 1
			contracts = append(contracts, c)
		}
	}
	return contracts
}

// Unsaid are the contracts of a style whose effect the engine does not know of, so that no error
// says that it stands.
func Unsaid(contracts []mrtrtest.Contract) (unsaid []mrtrtest.Contract) {
	for _, c := range contracts {
		c.EarlyStands = ""
		unsaid = append(unsaid, c)
	}
	return unsaid
}

func unansweredBy(key string) mrtrtest.Ending {
	return stopped(`question "` + key + `": got no answer: calling "elicitation/create": no answer`)
}

// Refusals are the calls of a client that cannot be asked. Every call asks for the
// units, so that the engine refuses it before the handler is entered: whatever place
// is asked for, nothing has been charged.
func Refusals(ends mrtrtest.Ending) []mrtrtest.Contract {
	return contractsOf([]row{
		{"Springfield", "Springfield", nil, nil, 1, ends, nothing},
		{"Lisbon", "Lisbon", nil, nil, 1, ends, nothing},
		{"unknown place", "Atlantis", nil, nil, 1, ends, nothing},
	})
}

// The needs that a client lacks, as the refusal of a question names them.
const (
	LacksSession  = "protocol revision 2026-07-28, or a session that can carry a question."
	LacksRevision = "protocol revision 2026-07-28."
)

// Defaults are the calls of a legacy client under the policy of defaults, which asks
// nothing: the units are metric, and place has no default.
func Defaults(lacks string) []mrtrtest.Contract {
	return contractsOf([]row{
		{"Lisbon", "Lisbon", script{"units": {imperial}}, nil, 1, lisbonMetric, completed("Lisbon")},
		{"Springfield", "Springfield", script{"place": {missouri}}, nil, 1, Refused("place", lacks), nothing},
		{"unknown place", "Atlantis", nil, nil, 1, unknownPlace, nothing},
	})
}

var (
	countAsk = mrtrtest.Question{Key: "count", Method: "elicitation/create", Message: "How many?",
		Schema: `{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}`}
	giftAsk = mrtrtest.Question{Key: "gift", Method: "elicitation/create", Message: "Wrap it as a gift?",
		Schema: `{"type":"object","properties":{"gift":{"type":"boolean"}},"required":["gift"]}`}
)

const (
	countMisfit = "The answer did not fit: count must be of type integer."
	giftMisfit  = "The answer did not fit: gift must be of type boolean."
)

var (
	wrapped   = report("Hold chairs-2, wrapped: true.", `{"hold":"chairs-2","gift":true}`)
	unwrapped = report("Hold chairs-2, wrapped: false.", `{"hold":"chairs-2","gift":false}`)
	heldOnce  = effects{atEnd: []string{"held 2 chairs"}, early: []string{"held 2 chairs"}}
	heldEarly = effects{early: []string{"held 2 chairs"}, key: "hold"}
)

func orderContract(name string, answers script, asks []mrtrtest.Question, ends mrtrtest.Ending, had effects) mrtrtest.Contract {
	return mrtrtest.Contract{
		Name: name, Script: mrtrtest.Script{Tool: "order", Arguments: map[string]any{"item": "chairs"}, Answers: answers},
		Asks: asks, Requests: 1 + len(asks), Ends: ends,
		Effects: had.atEnd, EarlyEffects: had.early, EarlyStands: had.stands(ends),
	}
}

// OrderContracts are the calls of the order tool by clients of 2026-07-28.
func OrderContracts() []mrtrtest.Contract {
	two, yes, no := mrtrtest.Value(2), mrtrtest.Value(true), mrtrtest.Value(false)
	both := asking(countAsk, giftAsk)
	return []mrtrtest.Contract{
		orderContract("wrapped", script{"count": {two}, "gift": {yes}}, both, wrapped, heldOnce),
		orderContract("not wrapped", script{"count": {two}, "gift": {no}}, both, unwrapped, heldOnce),
		orderContract("gift declined", script{"count": {two}, "gift": {mrtrtest.Decline}}, both, unwrapped, heldOnce),
		orderContract("gift cancelled", script{"count": {two}, "gift": {mrtrtest.Cancel}}, both, unwrapped, heldOnce),
		orderContract("count declined", script{"count": {mrtrtest.Decline}}, asking(countAsk), stopped(`Stopped: "count" was declined.`), nothing),
		orderContract("count of another type first", script{"count": {mrtrtest.Value("two"), two}, "gift": {yes}},
			asking(countAsk, asAgain(countAsk, countMisfit), giftAsk), wrapped, heldOnce),
		orderContract("gift missing first", script{"count": {two}, "gift": {mrtrtest.Missing, yes}}, asking(countAsk, giftAsk, giftAsk), wrapped, heldOnce),
		orderContract("gift of another type first", script{"count": {two}, "gift": {mrtrtest.Value("yes"), no}},
			asking(countAsk, giftAsk, asAgain(giftAsk, giftMisfit)), unwrapped, heldOnce),
		orderContract("gift never answered", script{"count": {two}, "gift": {mrtrtest.Missing}},
			asking(countAsk, giftAsk, giftAsk, giftAsk, giftAsk), stopped(`Stopped: "gift" was asked 4 times without a usable answer.`), heldEarly),
	}
}

// LegacyOrderContracts are those calls in one request each. A client that says
// nothing differs as in [LegacyContracts], which hold that.
func LegacyOrderContracts() []mrtrtest.Contract { return inOneRequest(OrderContracts()) }

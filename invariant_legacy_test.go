package sdk_test

import (
	"testing"

	"github.com/mrtr-go/sdk/internal/wire"
)

var legacy = setting{name: "old client", client: &wire.Options{Version: wire.Legacy}}

// A client from before 2026-07-28 makes one tools/call, and is asked over its
// connection while that is open. The client here never calls again: what a
// style does not bring to an end in one request, it would take for the result.
// B is among them: there it truly waits.
func TestInvariantForOldClients(t *testing.T) {
	full := styles("sse_shim", "version_branch", "two_handlers", "once", "steps", "coroutine", "journal", "await")
	hold(t, full, legacyContracts(), legacy)
}

// legacyContracts differ from the modern ones in three things: there is one
// request; an answer that breaks its schema is dropped by the SDK before
// anybody could say what was wrong with it, so the question comes again as it
// was, while what the SDK lets through is noted as ever; and a client that leaves a question unanswered has to say so, with an
// error, which ends the call.
func legacyContracts() []contract {
	const lisbon, springfield = "Lisbon", "Springfield, Missouri"
	return []contract{
		{"Lisbon, metric", at(lisbon), script{"units": {metric}}, asking(unitsAsk), 1, lisbonMetric, completed(lisbon)},
		{"Lisbon, imperial", at(lisbon), script{"units": {imperial}}, asking(unitsAsk), 1, lisbonImperial, completed(lisbon)},
		{"Lisbon, declined at units", at(lisbon), script{"units": {wire.Decline}}, asking(unitsAsk), 1, stopped(`Stopped: "units" was declined.`), noUnits(lisbon)},
		{"Lisbon, cancelled at units", at(lisbon), script{"units": {wire.Cancel}}, asking(unitsAsk), 1, stopped(`Stopped: "units" was cancelled.`), noUnits(lisbon)},
		{"Lisbon, units missing", at(lisbon), script{"units": {wire.Missing}}, asking(unitsAsk), 1, unansweredBy("units"), noUnits(lisbon)},
		{"Lisbon, units of no such value first", at(lisbon), script{"units": {kelvin, metric}}, asking(unitsAsk, unitsAsk), 1, lisbonMetric, completed(lisbon)},
		{"Lisbon, units never of any use", at(lisbon), script{"units": {kelvin}}, asking(unitsAsk, unitsAsk, unitsAsk, unitsAsk), 1,
			stopped(`Stopped: "units" was asked 4 times without a usable answer.`), noUnits(lisbon)},
		{"Lisbon, units with no such action first", at("Lisbon"), script{"units": {banana, metric}}, asking(unitsAsk, unitsAsk.noting(noAction)), 1, lisbonMetric, completed(lisbon)},
		{"Lisbon, units without content first", at("Lisbon"), script{"units": {contentless, metric}}, asking(unitsAsk, unitsAsk.noting(unitsMisfit)), 1, lisbonMetric, completed(lisbon)},

		{"Springfield, metric", at("Springfield"), script{"place": {missouri}, "units": {metric}}, asking(placeAsk, unitsAsk), 1, missouriMetric, completed(springfield)},
		{"Springfield, imperial", at("Springfield"), script{"place": {missouri}, "units": {imperial}}, asking(placeAsk, unitsAsk), 1, missouriImperial, completed(springfield)},
		{"Springfield, declined at place", at("Springfield"), script{"place": {wire.Decline}}, asking(placeAsk), 1, stopped(`Stopped: "place" was declined.`), nothing},
		{"Springfield, cancelled at place", at("Springfield"), script{"place": {wire.Cancel}}, asking(placeAsk), 1, stopped(`Stopped: "place" was cancelled.`), nothing},
		{"Springfield, place missing", at("Springfield"), script{"place": {wire.Missing}}, asking(placeAsk), 1, unansweredBy("place"), nothing},
		{"Springfield, declined at units", at("Springfield"), script{"place": {missouri}, "units": {wire.Decline}}, asking(placeAsk, unitsAsk), 1,
			stopped(`Stopped: "units" was declined.`), noUnits(springfield)},
		{"Springfield, cancelled at units", at("Springfield"), script{"place": {missouri}, "units": {wire.Cancel}}, asking(placeAsk, unitsAsk), 1,
			stopped(`Stopped: "units" was cancelled.`), noUnits(springfield)},
		{"Springfield, units missing", at("Springfield"), script{"place": {missouri}, "units": {wire.Missing}}, asking(placeAsk, unitsAsk), 1,
			unansweredBy("units"), noUnits(springfield)},
		{"Springfield, both of no such value first", at("Springfield"), script{"place": {ohio, missouri}, "units": {kelvin, metric}},
			asking(placeAsk, placeAsk, unitsAsk, unitsAsk), 1, missouriMetric, completed(springfield)},

		{"unknown place", at("Atlantis"), nil, nil, 1, unknownPlace, nothing},
	}
}

func unansweredBy(key string) ending {
	return stopped(`question "` + key + `": got no answer: calling "elicitation/create": no answer`)
}

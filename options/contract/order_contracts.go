package contract

import (
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
)

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

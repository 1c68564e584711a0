package replay

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// expires waits until no state opens any more, and abandons until every call that nobody went on with
// has been looked after too.
func (inn *Inn) expires() { time.Sleep(inn.pace.TTL + inn.pace.Skew + inn.pace.Skew/2) }

func (inn *Inn) abandons() {
	time.Sleep(inn.pace.TTL + 2*inn.pace.Skew + 5*time.Second + 2*inn.pace.Lease + 4*inn.pace.Looks)
}

// dies has a request reach an instance that dies in an effect. Nobody hears of it again.
func (g *Guest) dies(effect string, send func(g *Guest)) {
	died := g.places[g.At%len(g.places)].diesInNext(effect)
	dying := *g
	go send(&dying)
	<-died
}

// Abandoned are the contracts of calls that nobody comes back to: each is undone once, by whichever
// instance finds it, and never one that went on.
var Abandoned = map[string]Contract{
	"left after the first question": {Play: func(inn *Inn) {
		ann(inn).Begin()
		inn.abandons()
	}, Did: "1/0/0", Undone: "1/0"},
	"left after the second": {Play: func(inn *Inn) {
		ann(inn).Plays("double")
		inn.abandons()
	}, Did: "1/1/0", Undone: "1/1"},
	"with no undo": {Play: func(inn *Inn) {
		ann(inn).Plays("double")
		inn.abandons()
	}, Did: "1/1/0"},
	"its user comes back": {Play: func(inn *Inn) {
		g := ann(inn)
		asked := g.Begin()
		time.Sleep(inn.pace.TTL / 6)
		g.Books(g.Answer(g.Answer(asked, "double"), "yes"))
		inn.abandons()
	}, Did: "1/1/1", Undone: "0/0"},
	"its user comes back too late": {Play: func(inn *Inn) {
		g := ann(inn)
		asked := g.Begin()
		inn.abandons()
		require.Error(inn, g.Answer(asked, "double").Err)
		inn.abandons()
	}, Did: "1/0/0", Undone: "1/0"},
	"begun anew": {Play: func(inn *Inn) {
		g := ann(inn)
		g.Begin()
		inn.abandons()
		g.Books(g.Plays(yes...))
		inn.abandons()
	}, Did: "2/1/1", Undone: "1/0"},
	"begun anew before anybody looks": {Play: func(inn *Inn) {
		g := ann(inn)
		g.Begin()
		inn.expires()
		g.Books(g.Plays(yes...))
		inn.abandons()
	}, Did: "2/1/1", Undone: "1/0"},
	"split, and one call is left": {Play: func(inn *Inn) {
		g := ann(inn)
		one, two := g.Begin(), g.Begin()
		require.Equal(inn, []string{"sure"}, g.Answer(one, "double").Asks)
		g.Books(g.Answer(g.Answer(two, "single"), "yes"))
		inn.abandons()
	}, Did: "2/2/1", Undone: "1/1"},
	"split, and the new call is left where it first asks": {Play: func(inn *Inn) {
		g := ann(inn)
		one, two := g.Begin(), g.Begin()
		g.Books(g.Answer(g.Answer(one, "double"), "yes"))
		require.Equal(inn, []string{"sure"}, g.Answer(two, "single").Asks)
		inn.abandons()
	}, Did: "2/2/1", Undone: "1/1"},
	"split, and an instance dies in the first turn of the new call": {Play: func(inn *Inn) {
		g := ann(inn)
		one, two := g.Begin(), g.Begin()
		g.Books(g.Answer(g.Answer(one, "double"), "yes"))
		g.dies("draft", func(g *Guest) { g.Answer(two, "single") })
		inn.abandons()
	}, Did: "2/1/1", Undone: "1/0", Apart: true},
	"one of two windows is closed": {Play: func(inn *Inn) {
		g := ann(inn)
		g.Begin()
		g.Books(g.Plays(yes...))
		inn.abandons()
	}, Did: "1/1/1", Undone: "0/0"},
	"the instance that asked has died": {Play: func(inn *Inn) {
		g := ann(inn)
		g.Begin()
		inn.places[0].dead.Store(true)
		inn.abandons()
	}, Did: "1/0/0", Undone: "1/0", Apart: true},
	"an instance dies in the first turn": {Play: func(inn *Inn) {
		ann(inn).dies("draft", func(g *Guest) { g.Begin() })
		inn.abandons()
	}, Did: "1/0/0", Undone: "1/0", Apart: true},
	"an instance dies in the first turn, and its user comes back": {Play: func(inn *Inn) {
		g := ann(inn)
		g.dies("draft", func(g *Guest) { g.Begin() })
		inn.ended(g.Begin().Err, mrtr.OutcomeUnknown)
		g.Books(g.Plays(yes...))
		inn.abandons()
	}, Did: "2/1/1", Undone: "1/0", Apart: true},
	"an instance dies in the first effect that can be undone": {Play: func(inn *Inn) {
		g := ann(inn)
		asked := g.Begin()
		g.dies("hold", func(g *Guest) { g.Answer(asked, "double") })
		inn.abandons()
	}, Did: "1/1/0", Undone: "0/1", Stays: "draft", Apart: true},
	"an instance dies in the turn that was answered": {Play: func(inn *Inn) {
		g := ann(inn)
		asked := g.Begin()
		g.dies("hold", func(g *Guest) { g.Answer(asked, "double") })
		inn.abandons()
	}, Did: "1/1/0", Undone: "1/1", Apart: true},
	"an instance dies in the turn that was answered, and the call is begun anew": {Play: func(inn *Inn) {
		g := ann(inn)
		asked := g.Begin()
		g.dies("hold", func(g *Guest) { g.Answer(asked, "double") })
		inn.expires()
		g.Books(g.Plays(yes...))
		inn.abandons()
	}, Did: "2/2/1", Undone: "1/1", Apart: true},
}

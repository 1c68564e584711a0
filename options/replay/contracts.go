package replay

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Contract is what a replay comes to.
type Contract struct {
	Options func(*mrtr.Options) // nil for nothing is peculiar
	Play    func(inn *Inn)
	Did     string // how often each effect happened in the end: see [Inn.Did]
	Undone  string // and was undone, if it can be: see [Inn.Undone]
	Stays   string // an effect that cannot, though the others can
	// Waits says that hours pass, which takes a bubble of testing/synctest. Idle says that the user
	// takes them, which is longer than a coroutine is held.
	Waits, Idle bool
	// Apart says that it takes two instances.
	Apart bool
}

// Hold plays a contract at an inn of its own, with an instance for each store.
func (c *Contract) Hold(t testing.TB, style string, stores []store.Store, pace Pace) {
	inn := open(t, style, stores, pace, c.Options, func(inn *Inn) (all []mrtr.Undoing) {
		for _, effect := range []string{"draft", "hold"} {
			if c.Undone != "" && effect != c.Stays {
				all = append(all, inn.undoes(effect))
			}
		}
		return all
	})
	c.Play(inn)
	require.Equal(t, c.Did, inn.Did())
	if c.Undone != "" {
		require.Equal(t, c.Undone, inn.Undone())
	}
}

var yes = []string{"double", "yes"}

func ann(inn *Inn) *Guest { return &Guest{Inn: inn, Who: "ann"} }

// Contracts hold in every style.
var Contracts = map[string]Contract{
	"honest": {Play: func(inn *Inn) { ann(inn).Books(ann(inn).Plays(yes...)) }, Did: "1/1/1"},
	"resumed from its top": {Play: func(inn *Inn) {
		g := ann(inn)
		g.Books(g.resumes(yes...))
	}, Did: "1/1/1"},
	"resumed, each request twice": {Play: func(inn *Inn) {
		g := ann(inn)
		for n := range 3 {
			last := g.Plays(yes[:n]...)
			if n < 2 { // after the end it would be another call
				require.Equal(inn, last.Asks, g.Plays(yes[:n]...).Asks)
			}
		}
	}, Did: "1/1/1"},
	"booked again": {Play: func(inn *Inn) {
		g := ann(inn)
		one, two := g.Books(g.Plays(yes...)), g.Books(g.Plays(yes...))
		require.NotEqual(inn, one, two)
	}, Did: "2/2/2"},
	"resumed and booked again": {Play: func(inn *Inn) {
		g := ann(inn)
		one, two := g.Books(g.resumes(yes...)), g.Books(g.resumes(yes...))
		require.NotEqual(inn, one, two)
	}, Did: "2/2/2"},
	"an answer is lost, and the request comes again": {Play: func(inn *Inn) {
		g := ann(inn)
		room := g.Begin()
		sure := g.Answer(room, "double")
		one := g.Books(g.Answer(sure, "yes"))
		require.Equal(inn, one, g.Books(g.Answer(sure, "yes")))
		require.Equal(inn, sure.Asks, g.Answer(room, "double").Asks)
		require.Equal(inn, one, g.Books(g.Answer(sure, "yes")))
	}, Did: "1/1/1"},
	"two windows, one after the other": {Play: func(inn *Inn) {
		g := ann(inn)
		one, two := g.Begin(), g.Begin()
		first, second := g.Answer(one, "double"), g.Answer(two, "double")
		require.NotEqual(inn, g.Books(g.Answer(first, "yes")), g.Books(g.Answer(second, "yes")))
	}, Did: "2/2/2"},
	"two windows, and other answers": {Play: func(inn *Inn) {
		g := ann(inn)
		one, two := g.Begin(), g.Begin()
		first, second := g.Answer(one, "double"), g.Answer(two, "single")
		require.NotEqual(inn, g.Books(g.Answer(second, "yes")), g.Books(g.Answer(first, "yes")))
	}, Did: "2/2/2"},
	"two windows, of which one is closed": {Play: func(inn *Inn) {
		g := ann(inn)
		g.Begin()
		two := g.Begin()
		g.Books(g.Answer(g.Answer(two, "double"), "yes"))
	}, Did: "1/1/1"},
	"a window that was behind, and goes on as the first": {Play: func(inn *Inn) {
		g := ann(inn)
		one := g.Answer(g.Begin(), "double")
		two := g.Plays("double") // it has seen the first turn
		require.NotEqual(inn, g.Books(g.Answer(two, "yes")), g.Books(g.Answer(one, "yes")))
	}, Did: "2/2/2"},
	"a window that caught up, and goes on after the first": {Play: func(inn *Inn) {
		g := ann(inn)
		one := g.Answer(g.Begin(), "double")
		two := g.Plays("double")
		require.NotEqual(inn, g.Books(g.Answer(one, "yes")), g.Books(g.Answer(two, "yes")))
	}, Did: "2/2/2"},
	"an answer is corrected in a replay": {Play: func(inn *Inn) {
		g := ann(inn)
		g.resumes("double")
		g.Books(g.Plays("single", "yes"))
	}, Did: "2/2/1"},
	"split, and the same request again": {Play: func(inn *Inn) {
		g := ann(inn)
		one, two := g.Begin(), g.Begin()
		g.Answer(one, "double")
		for range 3 {
			sure := g.Answer(two, "single")
			g.Books(g.Answer(sure, "yes"))
		}
	}, Did: "2/2/1"},
	"declined, and then again": {Play: func(inn *Inn) {
		g := ann(inn)
		room := g.Begin()
		inn.ended(g.declines(room).Err, mrtr.Declined)
		g.Books(g.Plays(yes...))
	}, Did: "2/1/1"},
	"other arguments": {Play: func(inn *Inn) {
		g := ann(inn)
		g.Begin()
		g.Dates = "May"
		g.Books(g.Plays(yes...))
	}, Did: "2/1/1"},
	"another user": {Play: func(inn *Inn) {
		ann(inn).Begin()
		bob := &Guest{Inn: inn, Who: "bob"}
		bob.Books(bob.resumes(yes...))
	}, Did: "2/1/1"},
	"a user whom nobody knows": {Play: func(inn *Inn) {
		g := &Guest{Inn: inn, http: true}
		g.Books(g.resumes(yes...))
	}, Did: "3/2/1"},
	"turned off": {Options: func(o *mrtr.Options) { o.Same = mrtr.SameNone }, Play: func(inn *Inn) {
		g := ann(inn)
		g.Key = "a key of ann's"
		g.Books(g.resumes(yes...))
	}, Did: "3/2/1"},
	"the client crashes after the end, without a key": {Play: func(inn *Inn) {
		g := ann(inn)
		require.NotEqual(inn, g.Books(g.resumes(yes...)), g.Books(g.Plays(yes...)))
	}, Did: "2/2/2"},
	"with a key": {Play: func(inn *Inn) {
		g := ann(inn)
		g.Key = "1"
		one := g.Books(g.resumes(yes...))
		require.Equal(inn, one, g.Books(g.Begin()), "the end")
		time.Sleep(24 * time.Hour)
		require.Equal(inn, one, g.Books(g.Begin()))
	}, Did: "1/1/1", Waits: true},
	"a key, and a user who comes too late": {Play: func(inn *Inn) {
		g := ann(inn)
		g.Key = "1"
		g.Begin()
		time.Sleep(2 * statecodec.DefaultTTL)
		inn.ended(g.Begin().Err, mrtr.Abandoned)
	}, Did: "1/0/0", Waits: true},
	"a key with other arguments, or other answers": {Play: func(inn *Inn) {
		g := ann(inn)
		g.Key = "1"
		room := g.Begin()
		sure := g.Answer(room, "double")
		inn.refuses(g.Answer(room, "single").Err)
		g.Dates = "May"
		require.Contains(inn, inn.refuses(g.Begin().Err).Message, "key")
		require.Equal(inn, 1, inn.refused)
		g.Dates = ""
		g.Books(g.Answer(sure, "yes"))
	}, Did: "1/1/1"},
	"one key of two users": {Play: func(inn *Inn) {
		for _, who := range []string{"ann", "bob"} {
			g := &Guest{Inn: inn, Who: who, Key: "1"}
			g.Books(g.resumes(yes...))
		}
	}, Did: "2/2/2"},
	"two keys": {Play: func(inn *Inn) {
		for _, key := range []string{"1", "2"} {
			g := &Guest{Inn: inn, Who: "ann", Key: key}
			g.Books(g.resumes(yes...))
		}
	}, Did: "2/2/2"},
	"a short key of a user whom nobody knows": {Play: func(inn *Inn) {
		g := &Guest{Inn: inn, http: true, Key: "123456789012345"}
		g.Books(g.resumes(yes...))
	}, Did: "3/2/1"},
	"a key that is a secret": {Play: func(inn *Inn) {
		g := &Guest{Inn: inn, http: true, Key: "1234567890123456"}
		g.Books(g.resumes(yes...))
	}, Did: "1/1/1"},
	"a client that cannot be asked joins, and the defaults stand": {Options: func(o *mrtr.Options) { o.Unaskable = mrtr.UnaskableDefaults }, Play: func(inn *Inn) {
		g := ann(inn)
		asked := g.Begin()
		mute := &Guest{Inn: inn, Who: "ann", Mute: true}
		receipt := mute.Books(mute.Begin())
		require.Equal(inn, "1/1/1", inn.Did())
		require.NotEqual(inn, receipt, g.Books(g.Answer(g.Answer(asked, "double"), "yes")))
	}, Did: "2/2/2"},
	"a user who takes the time": {Play: func(inn *Inn) {
		g := ann(inn)
		const slow = statecodec.DefaultTTL - time.Minute
		g.Begin()
		time.Sleep(slow)
		g.Plays("double")
		time.Sleep(slow)
		g.Books(g.Plays(yes...))
	}, Did: "1/1/1", Waits: true, Idle: true},
}

// Holds reports whether a contract holds in a style at so many instances.
func (c *Contract) Holds(style string, instances int) bool {
	switch {
	case c.Apart && instances == 1:
		return false
	case style != "coroutine" || c.Apart:
		return true
	}
	return instances == 1 && !c.Idle // it goes on where it is held
}

func (inn *Inn) ended(err error, reason mrtr.Reason) {
	var ended *mrtr.Error
	require.ErrorAs(inn, err, &ended)
	require.Equal(inn, reason, ended.Reason)
}

func (inn *Inn) refuses(err error) *jsonrpc.Error {
	var refused *jsonrpc.Error
	require.ErrorAs(inn, err, &refused)
	require.EqualValues(inn, jsonrpc.CodeInvalidParams, refused.Code)
	return refused
}

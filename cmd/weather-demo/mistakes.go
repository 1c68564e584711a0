package main

import (
	"context"
	"time"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

// mistake is an error, with the call that provokes it.
type mistake struct {
	heading, title string
	provoke        func(ctx context.Context) (*wire.Reply, error)
}

const (
	inTheCall    = "the call is wrong"
	byTheUser    = "the user does not answer"
	byTheClient  = "the client cannot answer, or cheats"
	betweenRound = "the server cannot go on"
	inTheTool    = "the tool is broken"
)

// mistakes are all errors, in the order in which they are shown. The client is
// modern and declares every capability, unless a mistake says otherwise.
var mistakes = []mistake{
	{inTheCall, "The place is unknown.", setup{}.calls("weather_native", `{"location":"Lisbonn"}`)},
	{inTheCall, "An argument has the wrong name.", setup{}.calls("weather_native", `{"locaton":"Lisbon"}`)},
	{inTheCall, "An argument has the wrong type.", setup{}.calls("weather_native", `{"location":5}`)},
	{inTheCall, "The arguments hold a scheduling flag of the agent's.", setup{}.calls("weather_native", `{"location":"Lisbon","wait_for_previous":true}`)},
	{inTheCall, "There is no such tool.", setup{}.calls("weather_natve", `{"location":"Lisbon"}`)},
	{inTheCall, "The server denies tools of this tier.", setup{boundary: boundary.Options{Deny: []boundary.Tier{boundary.Write}}}.calls("resolve_work_item", `{"work_item_id":4522}`)},

	{byTheUser, "A question is declined.", setup{answers: wire.Answers{"units": wire.Decline}}.calls("weather_native", lisbon)},
	{byTheUser, "A question is cancelled.", setup{answers: wire.Answers{"units": wire.Cancel}}.calls("weather_native", lisbon)},
	{byTheUser, "No answer fits the question.", setup{answers: wire.Answers{"units": wire.Value("kelvin")}}.calls("weather_native", lisbon)},

	{byTheClient, "A legacy client cannot be asked, and the question has no default.", setup{
		runtime: mrtr.Options{Legacy: mrtr.LegacyDefaults}, client: wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing},
	}.calls("weather_steps", springfield)},
	{byTheClient, "A modern client does not declare the capability.", setup{client: wire.Options{Capabilities: wire.Nothing}}.calls("weather_native", lisbon)},
	{byTheClient, "The state was forged.", forged},
	{byTheClient, "The state belongs to a call with other arguments.", transplanted},
	{byTheClient, "The answer is of no kind that the protocol knows.", setup{answers: wire.Answers{"units": wire.Raw(`{"yes":true}`)}}.calls("weather_native", lisbon)},

	{betweenRound, "The held handler is in another process (style coroutine).", elsewhere("weather_coroutine", nil)},
	{betweenRound, "The list of steps has changed since the call began.", elsewhere("weather_steps", laterSteps)},
	{betweenRound, "Too many handlers are held.", setup{runtime: mrtr.Options{MaxFrames: 1}}.twice("weather_coroutine", lisbon)},
	{betweenRound, "The state exceeds its limit.", setup{runtime: mrtr.Options{MaxStateBytes: 64}}.calls("weather_native", lisbon)},

	{inTheTool, "It panics.", setup{}.calls("panics", `{}`)},
	{inTheTool, "Its result cannot be sent.", setup{}.calls("unsendable", `{}`)},
	{inTheTool, "It does not return in time.", setup{boundary: boundary.Options{Deadline: 50 * time.Millisecond}}.calls("hangs", `{}`)},
}

const (
	lisbon      = `{"location":"Lisbon"}`
	springfield = `{"location":"Springfield"}`
)

// forged changes one bit of a state.
func forged(ctx context.Context) (*wire.Reply, error) {
	return setup{}.secondRound(ctx, "weather_native", lisbon, func(r *wire.Request) {
		middle := []byte(r.State)
		middle[len(middle)/2] ^= 1
		r.State = string(middle)
	})
}

// transplanted sends the state of one call with the arguments of another.
func transplanted(ctx context.Context) (*wire.Reply, error) {
	return setup{}.secondRound(ctx, "weather_native", lisbon, func(r *wire.Request) {
		r.Arguments = map[string]string{"location": "Tokyo"}
	})
}

// elsewhere makes the second round on another server, which has the same key. If
// other is not nil, it replaces weather_steps there.
func elsewhere(tool string, other func(*mrtr.Runtime, *options.Audit) options.Handler) func(context.Context) (*wire.Reply, error) {
	return func(ctx context.Context) (*wire.Reply, error) {
		s := setup{runtime: mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{statecodec.GenerateKey()}}}}
		var request wire.Request
		if _, err := s.secondRound(ctx, tool, springfield, func(r *wire.Request) { request = *r }); err != nil {
			return nil, err
		}
		s.instead = other
		return s.send(ctx, request)
	}
}

package boundary_test

import (
	"context"
	"time"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

// The call is wrong, and the agent can correct it.
func Example_wrongCalls() {
	var server exampleServer
	printFailure("The place is unknown.", server.play(calls("weather", `{"location":"Lisbonn"}`, nil)))
	printFailure("An argument has the wrong name.", server.play(calls("weather", `{"locaton":"Lisbon"}`, nil)))
	printFailure("An argument has the wrong type.", server.play(calls("weather", `{"location":5}`, nil)))
	printFailure("The arguments hold a scheduling flag of the agent's.", server.play(calls("weather", `{"location":"Lisbon","wait_for_previous":true}`, nil)))
	printFailure("There is no such tool.", server.play(calls("wether", lisbon, nil)))
	server.boundary.Deny = []boundary.Tier{boundary.Write}
	printFailure("The server denies tools of this tier.", server.play(calls("resolve", `{"work_item_id":4522}`, nil)))
	// Output:
	// The place is unknown.
	//   not_found, expected true:
	//     Unknown place. Nearest: Lisbon, Tokyo, Reykjavik.
	//     Call again with one of the nearest places.
	// An argument has the wrong name.
	//   validation, expected true:
	//     2 argument problems: /location is required; /locaton is not an argument of this tool, though client 1 sent it.
	//     Did you mean "location"? Valid arguments: location.
	// An argument has the wrong type.
	//   validation, expected true:
	//     1 argument problem: /location must be a string, not an integer.
	// The arguments hold a scheduling flag of the agent's.
	//   validation, expected true:
	//     1 argument problem: /wait_for_previous is not an argument of this tool.
	//     "wait_for_previous" is a scheduling flag of the agent's own runtime and was sent to the tool by mistake, by client 1: leave it out.
	// There is no such tool.
	//   protocol error -32602: unknown tool "wether" {"suggestions":["weather"]}
	// The server denies tools of this tier.
	//   denied, expected true:
	//     Tool "resolve" is write, and this server does not offer write tools.
	//     Use the tools that tools/list names.
}

// The user does not answer. That is nobody's mistake.
func Example_noAnswers() {
	var server exampleServer
	printFailure("A question is declined.", server.play(calls("weather", lisbon, wire.Answers{"units": wire.Decline})))
	printFailure("A question is cancelled.", server.play(calls("weather", lisbon, wire.Answers{"units": wire.Cancel})))
	printFailure("No answer fits the question.", server.play(calls("weather", lisbon, wire.Answers{"units": wire.Value("kelvin")})))
	// Output:
	// A question is declined.
	//   declined, expected true:
	//     Stopped: "units" was declined.
	// A question is cancelled.
	//   cancelled, expected true:
	//     Stopped: "units" was cancelled.
	// No answer fits the question.
	//   unanswered, expected true:
	//     Stopped: "units" was asked 4 times without a usable answer.
}

// The client cannot answer, or cheats.
func Example_clients() {
	old := exampleServer{
		runtime: mrtr.Options{Legacy: mrtr.LegacyNever, Unaskable: mrtr.UnaskableLegacyDefaults},
		client:  wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing},
	}
	printFailure("A legacy client cannot be asked, and the question has no default.", old.play(calls("weather_steps", springfield, nil)))
	poor := exampleServer{client: wire.Options{Capabilities: wire.Nothing}}
	printFailure("A modern client does not declare the capability.", poor.play(calls("weather", lisbon, nil)))

	var server exampleServer
	forge := func(r *wire.Request) {
		state := []byte(r.State)
		state[len(state)/2] ^= 1
		r.State = string(state)
	}
	printFailure("The state was forged.", server.play(answersAfter("weather", lisbon, forge)))
	transplant := func(r *wire.Request) { r.Arguments = map[string]string{"location": "Tokyo"} }
	printFailure("The state belongs to a call with other arguments.", server.play(answersAfter("weather", lisbon, transplant)))
	printFailure("The answer is of no kind that the protocol knows.", server.play(calls("weather", lisbon, wire.Answers{"units": wire.Raw(`{"yes":true}`)})))
	// Output:
	// A legacy client cannot be asked, and the question has no default.
	//   client_cannot_be_asked, expected true:
	//     This client cannot be asked for "place": it lacks protocol revision 2026-07-28.
	// A modern client does not declare the capability.
	//   protocol error -32021: Missing required client capability {"requiredCapabilities":{"elicitation":{"form":{}}}}
	// The state was forged.
	//   protocol error -32602: Invalid or expired requestState
	// The state belongs to a call with other arguments.
	//   protocol error -32602: Invalid or expired requestState
	// The answer is of no kind that the protocol knows.
	//   protocol error -32602: handling 'tools/call': invalid params
}

// The server cannot go on with the call.
func Example_servers() {
	shared := exampleServer{runtime: mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{statecodec.GenerateKey()}}}}
	later := shared // another process, or a new version, with the same key
	later.steps = laterSteps
	elsewhere := func(tool string) *wire.Reply {
		var second wire.Request
		shared.play(answersAfter(tool, springfield, func(r *wire.Request) { second = *r }))
		return later.play(func(c *wire.Client) (*wire.Reply, error) { return c.Send(context.Background(), second) })
	}
	printFailure("The held handler is in another process.", elsewhere("weather_coroutine"))
	printFailure("The list of steps has changed since the call began.", elsewhere("weather_steps"))

	full := exampleServer{runtime: mrtr.Options{Limits: mrtr.Limits{MaxFrames: 1}}}
	printFailure("Too many handlers are held.", full.play(func(c *wire.Client) (*wire.Reply, error) {
		if _, err := requests("weather_coroutine", lisbon)(c); err != nil { // it waits for its user
			return nil, err
		}
		return requests("weather_coroutine", lisbon)(c)
	}))
	small := exampleServer{runtime: mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 64}}}
	printFailure("The state exceeds its limit.", small.play(calls("weather", lisbon, nil)))
	// Output:
	// The held handler is in another process.
	//   frame_gone, expected true, effect unknown:
	//     This call's frame is gone: it was held by a server that no longer has it. What it has done is unknown: do not call the tool again without checking.
	// The list of steps has changed since the call began.
	//   diverged, expected true:
	//     The tool changed during this call: step "units" now comes before steps that were taken. Call the tool again.
	// Too many handlers are held.
	//   busy, expected true:
	//     Too many calls are waiting for answers (limit 1). Try again later.
	// The state exceeds its limit.
	//   limit_exceeded, expected false:
	//     Stopped: more than 64 bytes of state.
}

// laterSteps asks for the units first.
func laterSteps(rt *mrtr.Runtime, _ *options.Card) options.Handler {
	var b steps.List[options.Query, options.Report]
	units := steps.Always(&b, options.Units)
	place := steps.Ask(&b, "place", func(_ context.Context, at *steps.At[options.Query]) (mrtr.Question[string], error) {
		return options.WhichPlace(at.In.Location)
	})
	b.End(func(_ context.Context, at *steps.At[options.Query]) (options.Report, error) {
		return options.NewReport(place.Of(at), units.Of(at)), nil
	})
	return mrtr.Tool(rt, b.MustBuild(), &mrtr.HandlerOptions{Version: "later"})
}

// The tool is broken, and an operator has to repair it. The log has the cause.
func Example_brokenTools() {
	var server exampleServer
	printFailure("It panics.", server.play(calls("panics", `{}`, nil)))
	printFailure("Its result cannot be sent.", server.play(calls("unsendable", `{}`, nil)))
	server.boundary.Deadline = 50 * time.Millisecond
	printFailure("It does not return in time.", server.play(calls("hangs", `{}`, nil)))
	// Output:
	// It panics.
	//   internal, expected false:
	//     Tool "panics" failed because of a fault in the server. The arguments are not the reason.
	// Its result cannot be sent.
	//   invalid_output, expected false:
	//     The tool ran, but its result is malformed and cannot be shown. The arguments are not the reason.
	// It does not return in time.
	//   timeout, expected false:
	//     Tool "hangs" did not finish within 50ms.
}

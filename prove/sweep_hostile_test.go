package prove_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

func result(result string) badAnswer {
	return func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) { respond(w, id, result) }
}

// withSchema is a list of one tool, whose members are given besides its name.
func withSchema(members string) string {
	return `[{"name":"t","annotations":{"readOnlyHint":true},` + members + `}]`
}

const doubling = `{"$defs":{` +
	`"a":{"allOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}]},` +
	`"b":{"allOf":[{"$ref":"#/$defs/c"},{"$ref":"#/$defs/c"},{"$ref":"#/$defs/c"},{"$ref":"#/$defs/c"}]},` +
	`"c":{"allOf":[{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"}]},` +
	`"d":{"allOf":[{"$ref":"#/$defs/e"},{"$ref":"#/$defs/e"},{"$ref":"#/$defs/e"},{"$ref":"#/$defs/e"}]},` +
	`"e":{"allOf":[{"$ref":"#/$defs/f"},{"$ref":"#/$defs/f"},{"$ref":"#/$defs/f"},{"$ref":"#/$defs/f"}]},` +
	`"f":{"allOf":[{"type":"object"},{"type":"object"},{"type":"object"},{"type":"object"}]}},"$ref":"#/$defs/a"}`

// Whatever a server does is a finding: the sweep neither dies nor waits for ever,
// and its output cannot steer a terminal.
func TestASweepOfHostileServers(t *testing.T) {
	const object = `"inputSchema":{"type":"object"}`
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	many := "[" + plainTool + strings.Repeat(`,{"name":"u","inputSchema":{"type":"object"}}`, 2000) + "]"
	asks := func(question string) string {
		return `{"resultType":"input_required","inputRequests":{"q":` + question + `},"requestState":"s"}`
	}
	var pages atomic.Int64
	keepsLittle(t)
	for name, tc := range map[string]struct {
		server hostile
		says   string // part of the report
		legacy string // of a legacy client's, where that is something else
	}{
		"a null tool":              {hostile{tools: `[null,` + plainTool + `]`}, "tools[0] is no tool: it is null", ""},
		"tools that are numbers":   {hostile{tools: `[1,2,3,4,5,6,7,8,9,10,11,12]`}, "2 more entries are no tools", ""},
		"tools that are no array":  {hostile{tools: `"x"`}, "FAIL  sweep/tools-list", ""},
		"a tool without a schema":  {hostile{tools: withSchema(`"title":"x"`)}, "its inputSchema does not read", ""},
		"a schema that is null":    {hostile{tools: withSchema(`"inputSchema":null`)}, "its inputSchema does not read: it is null", ""},
		"a null property":          {hostile{tools: withSchema(`"inputSchema":{"type":"object","properties":{"a":null}}`)}, "sweep/bad-input", ""},
		"a thousand million items": {hostile{tools: withSchema(`"inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":1e9}}}`)}, "not proved: no arguments to call it with", ""},
		"a long text":              {hostile{tools: withSchema(`"inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"string","minLength":1000000000}}}`)}, "not proved: no arguments to call it with", ""},
		"items of items": {hostile{tools: withSchema(`"inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":1000,"items":{"type":"array","minItems":1000,"items":{"type":"array","minItems":1000}}}}}`)},
			"not proved: no arguments to call it with", ""},
		"an input schema as deep as it gets": {hostile{tools: withSchema(`"inputSchema":` + strings.Repeat(`{"not":`, 500) + `{}` + strings.Repeat(`}`, 500))}, "nested deeper than 64", ""},
		"an output schema that is itself":    {hostile{tools: withSchema(object + `,"outputSchema":{"$ref":"#"}`)}, `not proved: its outputSchema is not judged by: its $ref "#" leads back to itself`, ""},
		"an output schema in a circle":       {hostile{tools: withSchema(object + `,"outputSchema":{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`)}, "leads back to itself", ""},
		"an output schema that doubles":      {hostile{tools: withSchema(object + `,"outputSchema":` + doubling)}, "not judged by: it has more than 10000 parts", ""},
		"more tools than anybody has":        {hostile{tools: many}, "it lists more than 1000 tools", ""},
		"a name that steers the terminal":    {hostile{tools: `[{"name":"\u001b[2Jt\u202e\n","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]`}, "\ufffd[2Jt\ufffd", ""},
		"one cursor for ever":                {hostile{method: "tools/list", answer: result(`{"tools":[],"nextCursor":"c"}`)}, `the cursor "c" comes again`, ""},
		"ever new cursors": {hostile{method: "tools/list", answer: func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			respond(w, id, fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, pages.Add(1)))
		}}, "no end after 100 pages", ""},
		"a list that never comes":    {hostile{method: "tools/list", answer: silence}, "deadline exceeded", ""},
		"a list that never ends":     {hostile{method: "tools/list", answer: endlessly("application/json", `{"jsonrpc":"2.0","id":1,"result":{"tools":[`, "{},")}, "larger than 16777216 bytes", ""},
		"an answer that never comes": {hostile{method: "tools/call", answer: silence}, "no answer: context deadline exceeded", ""},
		"an answer that never ends":  {hostile{method: "tools/call", answer: endlessly("application/json", `{"jsonrpc":"2.0","id":1,"result":"`, "x")}, "larger than 16777216 bytes", ""},
		"a stream of one line":       {hostile{method: "tools/call", answer: endlessly("text/event-stream", "data: ", "x")}, "larger than 16777216 bytes", ""},
		"a stream of notifications":  {hostile{method: "tools/call", answer: endlessly("text/event-stream", "", notification(1<<14))}, "larger than 16777216 bytes", ""},
		"notifications now and then": {hostile{method: "tools/call", answer: trickle}, "no answer: context deadline exceeded", ""},
		"a stream that stays open":   {hostile{method: "tools/call", answer: openStream(`{"resultType":"complete","content":[]}`)}, "FAIL  sweep/stream-ends", ""},
		"a connection that breaks":   {hostile{method: "tools/call", answer: hangUp}, "no answer: ", ""},
		"an answer to another request": {hostile{method: "tools/call", answer: func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			respond(w, json.RawMessage(`99`), `{}`)
		}}, "answers came that nothing waited for", ""},
		"a result that is nested for ever": {hostile{method: "tools/call", answer: result(`{"resultType":"complete","content":` + deep + `}`)}, "FAIL  sweep/good-input", ""},
		"a call that asks for ever": {hostile{method: "tools/call", answer: result(asks(`{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`))},
			"not proved: the call asks further after 10 rounds", "FAIL  sweep/good-input"},
		"a question for what was not declared": {hostile{method: "tools/call", answer: result(asks(`{"method":"sampling/createMessage","params":{}}`))}, "it asks for what the client did not declare", "FAIL  sweep/good-input"},
		"a question with a form of any size": {hostile{method: "tools/call", answer: result(asks(`{"method":"elicitation/create","params":{"requestedSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"string","minLength":999999999}}}}}`))},
			`not proved: the question "q": what fits the schema`, "FAIL  sweep/good-input"},
		"a question without a form": {hostile{method: "tools/call", answer: result(asks(`{"method":"elicitation/create","params":{}}`))}, "its requestedSchema does not read", "FAIL  sweep/good-input"},
		"no handshake":              {hostile{method: "initialize", answer: silence}, "pass  sweep/good-input", "initialize: context deadline exceeded"},
		"a handshake without end":   {hostile{method: "initialize", answer: endlessly("application/json", `{"a":"`, "x")}, "pass  sweep/good-input", "initialize: the response is larger"},
	} {
		for _, client := range []string{"modern", "legacy"} {
			t.Run(name+"/"+client, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { // many wait for what never comes
					server := tc.server // which the two clients share otherwise
					server.sweeps = true
					start := time.Now()
					report := sweep(t, dialPipes(t, server), client, prove.SweepOptions{Patience: 2 * time.Second, Limit: 6 * time.Second})
					require.Less(t, time.Since(start), 10*time.Second)
					want := tc.says
					if client == "legacy" && tc.legacy != "" {
						want = tc.legacy
					}
					require.Contains(t, report.String(), want)
					require.NotContains(t, report.String(), "\x1b")
				})
			})
		}
	}
}

// So it is with programs that are no servers at all.
func TestASweepOfHostileCommands(t *testing.T) {
	for command, says := range map[string]string{
		"yes":      "FAIL",
		"cat":      "", // a legacy client answers its own initialize, with an error
		"sleep 60": "deadline exceeded",
		"true":     "FAIL",
	} {
		program, _, _ := strings.Cut(command, " ")
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("MRTR_CI") == "1" {
				t.Fatalf("there is no %s here", program)
			}
			t.Skipf("there is no %s here: install the basic commands of Unix", program)
		}
		for _, client := range []string{"modern", "legacy"} {
			t.Run(command+"/"+client, func(t *testing.T) {
				t.Parallel() // they mostly wait for a program to end
				words := strings.Fields(command)
				program := &mcp.CommandTransport{Command: exec.Command(words[0], words[1:]...), TerminateDuration: 100 * time.Millisecond}
				dial := func(context.Context, *prove.Caller) (*prove.Endpoint, error) {
					return &prove.Endpoint{Transport: program}, nil
				}
				report := sweep(t, dial, client, prove.SweepOptions{Patience: 300 * time.Millisecond})
				require.Contains(t, report.String(), says)
				require.NotContains(t, report.String(), "pass  ")
			})
		}
	}
}

// An answer that comes after the patience is late, and no second one.
func TestALateAnswerIsNoSecondOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &faulty{begins: func(string, int) bool { return false }, sound: hostile{sweeps: true, method: "tools/call", answer: func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			time.Sleep(3 * time.Second)
			respond(w, id, plainReply)
		}}}
		reports := sweep(t, server.dial(t.Context(), nil), "modern", prove.SweepOptions{Patience: 2 * time.Second})
		require.Contains(t, reports.String(), "pass  sweep/one-answer")
		time.Sleep(time.Minute) // until the last answer was written in vain
	})
}

// A server may speak legacy revisions alone, or modern ones alone.
func TestAServerOfOneEraIsNotCondemned(t *testing.T) {
	for skipped, server := range map[string]hostile{
		"modern": {sweeps: true, unknown: "server/discover", method: "tools/list", answer: result(`{"tools":[` + plainTool + `]}`)},
		"legacy": {sweeps: true, unknown: "initialize"},
	} {
		synctest.Test(t, func(t *testing.T) {
			reports := sweep(t, dialPipes(t, server), skipped, prove.SweepOptions{})
			require.Len(t, reports, 1, skipped)
			require.Len(t, reports[0].Findings, 1, reports)
			require.Equal(t, prove.Skip, reports[0].Findings[0].Outcome, skipped)
		})
	}
}

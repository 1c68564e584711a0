package probe_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/badanswer"
	"github.com/mrtr-go/sdk/internal/pipehttp"
	"github.com/mrtr-go/sdk/internal/probe"
)

// A hostile server answers as it should, except to one method.
type hostile struct {
	method string
	answer badanswer.Answer
	tools  string // of tools/list, where that is answered as it should be
}

const plainTool = `{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`

func (h hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	body, _ := io.ReadAll(r.Body)
	if json.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if request.Method == h.method {
		h.answer(w, r, request.ID)
		return
	}
	tools := h.tools
	if tools == "" {
		tools = "[" + plainTool + "]"
	}
	switch request.Method {
	case "initialize":
		badanswer.Respond(w, request.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
	case "tools/list":
		badanswer.Respond(w, request.ID, `{"resultType":"complete","tools":`+tools+`}`)
	case "tools/call":
		badanswer.Respond(w, request.ID, `{"resultType":"complete","content":[],"structuredContent":{"a":1}}`)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func result(result string) badanswer.Answer {
	return func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) { badanswer.Respond(w, id, result) }
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

// Whatever a server does is a finding: the probe neither dies nor waits for ever,
// and its output cannot steer a terminal.
func TestHostileServers(t *testing.T) {
	const object = `"inputSchema":{"type":"object"}`
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	many := "[" + plainTool + strings.Repeat(`,{"name":"u","inputSchema":{"type":"object"}}`, 2000) + "]"
	asks := func(question string) string {
		return `{"resultType":"input_required","inputRequests":{"q":` + question + `},"requestState":"s"}`
	}
	var pages atomic.Int64
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.Cleanup(func() { // after the last of them
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(64<<20), "what the servers sent was kept")
	})
	for name, tc := range map[string]struct {
		server hostile
		says   string // part of the report
		legacy string // of a legacy client's, where that is something else
	}{
		"a null tool":              {hostile{tools: `[null,` + plainTool + `]`}, "tools[0] is no tool: it is null", ""},
		"tools that are numbers":   {hostile{tools: `[1,2,3,4,5,6,7,8,9,10,11,12]`}, "2 more entries are no tools", ""},
		"tools that are no array":  {hostile{tools: `"x"`}, "FAULT (server)             tools_list", ""},
		"a tool without a schema":  {hostile{tools: withSchema(`"title":"x"`)}, "its inputSchema does not read", ""},
		"a schema that is null":    {hostile{tools: withSchema(`"inputSchema":null`)}, "its inputSchema does not read: it is null", ""},
		"a null property":          {hostile{tools: withSchema(`"inputSchema":{"type":"object","properties":{"a":null}}`)}, "not_an_object", ""},
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
		"one cursor for ever":                {hostile{"tools/list", result(`{"tools":[],"nextCursor":"c"}`), ""}, `the cursor "c" comes again`, ""},
		"ever new cursors": {hostile{"tools/list", func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			badanswer.Respond(w, id, fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, pages.Add(1)))
		}, ""}, "no end after 100 pages", ""},
		"a list that never comes":    {hostile{"tools/list", badanswer.Silence, ""}, "deadline exceeded", ""},
		"a list that never ends":     {hostile{"tools/list", badanswer.Endlessly("application/json", `{"jsonrpc":"2.0","id":1,"result":{"tools":[`, "{},"), ""}, "larger than 16777216 bytes", ""},
		"an answer that never comes": {hostile{"tools/call", badanswer.Silence, ""}, "no answer: context deadline exceeded", ""},
		"an answer that never ends":  {hostile{"tools/call", badanswer.Endlessly("application/json", `{"jsonrpc":"2.0","id":1,"result":"`, "x"), ""}, "larger than 16777216 bytes", ""},
		"a stream of one line":       {hostile{"tools/call", badanswer.Endlessly("text/event-stream", "data: ", "x"), ""}, "larger than 16777216 bytes", ""},
		"a stream of notifications":  {hostile{"tools/call", badanswer.Endlessly("text/event-stream", "", badanswer.Notification(1<<14)), ""}, "larger than 16777216 bytes", ""},
		"notifications now and then": {hostile{"tools/call", badanswer.Trickle, ""}, "no answer: context deadline exceeded", ""},
		"a stream that stays open":   {hostile{"tools/call", badanswer.OpenStream(`{"resultType":"complete","content":[]}`), ""}, "FAULT (server)             stream_ends", ""},
		"a connection that breaks":   {hostile{"tools/call", badanswer.Break, ""}, "no answer: ", ""},
		"an answer to another request": {hostile{"tools/call", func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			badanswer.Respond(w, json.RawMessage(`99`), `{}`)
		}, ""}, "answers came that nothing waited for", ""},
		"a result that is nested for ever": {hostile{"tools/call", result(`{"resultType":"complete","content":` + deep + `}`), ""}, "FAULT t                    good_input", ""},
		"a call that asks for ever": {hostile{"tools/call", result(asks(`{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`)), ""},
			"not proved: the call asks further after 10 rounds", "FAULT t                    good_input"},
		"a question for what was not declared": {hostile{"tools/call", result(asks(`{"method":"sampling/createMessage","params":{}}`)), ""}, "it asks for what the client did not declare", "FAULT t"},
		"a question with a form of any size": {hostile{"tools/call", result(asks(`{"method":"elicitation/create","params":{"requestedSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"string","minLength":999999999}}}}}`)), ""},
			`not proved: the question "q": what fits the schema`, "FAULT t"},
		"a question without a form": {hostile{"tools/call", result(asks(`{"method":"elicitation/create","params":{}}`)), ""}, "its requestedSchema does not read", "FAULT t"},
		"no handshake":              {hostile{"initialize", badanswer.Silence, ""}, "good_input         complete", "initialize: context deadline exceeded"},
		"a handshake without end":   {hostile{"initialize", badanswer.Endlessly("application/json", `{"a":"`, "x"), ""}, "good_input         complete", "initialize: the response is larger"},
	} {
		for _, era := range []probe.Era{probe.Modern, probe.Legacy} {
			t.Run(name+"/"+string(era), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { // many wait for what never comes
					pipes, end := pipehttp.Serve(tc.server)
					defer end()
					start := time.Now()
					report, err := probe.Probe(t.Context(), probe.HTTP("http://hostile", pipes), era, &probe.Options{Patience: 2 * time.Second, Limit: 6 * time.Second})
					require.NoError(t, err)
					require.Less(t, time.Since(start), 10*time.Second)
					want := tc.says
					if era == probe.Legacy && tc.legacy != "" {
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
func TestHostileCommands(t *testing.T) {
	for command, says := range map[string]string{
		"yes":      "FAULT",
		"cat":      "FAULT",
		"sleep 60": "deadline exceeded",
		"true":     "FAULT",
	} {
		program, _, _ := strings.Cut(command, " ")
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("MRTR_CI") == "1" {
				t.Fatalf("there is no %s here", program)
			}
			t.Skipf("there is no %s here: install the basic commands of Unix", program)
		}
		for _, era := range []probe.Era{probe.Modern, probe.Legacy} {
			t.Run(command+"/"+string(era), func(t *testing.T) {
				t.Parallel() // they mostly wait for a program to end
				words := strings.Fields(command)
				program := &mcp.CommandTransport{Command: exec.Command(words[0], words[1:]...), TerminateDuration: 100 * time.Millisecond}
				report, err := probe.Probe(t.Context(), probe.Over(program), era, &probe.Options{Patience: time.Second})
				require.NoError(t, err)
				require.Contains(t, report.String(), says)
			})
		}
	}
}

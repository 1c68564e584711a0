package prove_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// Whatever a server does, the proof ends, keeps nothing of it, and prints nothing
// that could steer a terminal.
func TestHostileServers(t *testing.T) {
	keepsLittle(t)
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	number := func(s string) string { return `{"type":"object","required":["a"],"properties":{"a":` + s + `}}` }
	for name, tc := range map[string]struct {
		server hostile
		proves bool   // whether a report comes of it
		says   string // part of the report, or of the error
	}{
		"nothing is wrong":            {hostile{}, true, "pass  result/answers"},
		"null tools":                  {hostile{tools: "[null," + plainTool + ",null]"}, true, "pass  result/answers"},
		"tools that are numbers":      {hostile{tools: "[1,2]"}, false, "tools/list does not read"},
		"a null schema":               {hostile{tools: `[{"name":"t","inputSchema":null}]`}, false, "inputSchema does not read"},
		"a thousand million items":    {hostile{tools: `[{"name":"t","inputSchema":` + number(`{"type":"array","minItems":1e9}`) + `}]`}, false, "no arguments can be made"},
		"a form of any size":          {hostile{asks: asking(number(`{"type":"string","minLength":999999999}`))}, false, "cannot be answered"},
		"a form that leads to itself": {hostile{asks: asking(`{"$ref":"#"}`)}, true, "FAIL  result/schema"},
		"a form within a form":        {hostile{asks: asking(number(`{"type":"object","required":["b"],"properties":{"b":{"minItems":1e9,"type":"array"}}}`))}, true, "FAIL  result/schema"},
		"questions that are a number": {hostile{asks: `{"resultType":"input_required","inputRequests":7}`}, true, "FAIL  result/schema"},
		"an output schema that leads to itself": {hostile{tools: `[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"$ref":"#"}}]`},
			true, "needs an output schema that can be judged by"},
		"a list that never comes": {hostile{method: "tools/list", answer: silence}, false, "deadline exceeded"},
		"a list that never ends":  {hostile{method: "tools/list", answer: endlessly("application/json", `{"a":[`, "{},")}, false, "larger than 16777216 bytes"},
		"ever new pages": {hostile{method: "tools/list", answer: func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			respond(w, id, `{"tools":[],"nextCursor":"c"}`)
		}}, false, `lists no tool "t", but none at all`},
		"a call that is not answered":      {hostile{method: "tools/call", answer: silence}, false, "deadline exceeded"},
		"an answer that never ends":        {hostile{method: "answered", answer: endlessly("text/event-stream", "data: ", "x")}, false, "larger than 16777216 bytes"},
		"a stream of notifications":        {hostile{method: "answered", answer: endlessly("text/event-stream", "", notification(1<<14))}, false, "larger than 16777216 bytes"},
		"notifications now and then":       {hostile{method: "answered", answer: trickle}, false, "deadline exceeded"},
		"a stream that stays open":         {hostile{method: "answered", answer: openStream(plainReply)}, true, "pass  result/answers"},
		"a connection that breaks":         {hostile{method: "answered", answer: hangUp}, false, "no answer"},
		"a call that asks for ever":        {hostile{end: asking(plainForm)}, false, "does not complete"},
		"a result that is nested for ever": {hostile{end: `{"resultType":"complete","content":` + deep + `}`}, false, "no answer"},
		"a key that steers the terminal": {hostile{asks: strings.ReplaceAll(asking(plainForm), `"q"`, `"\u009b2J\u202e"`)},
			true, "note  consent/declined"},
		"a result that steers the terminal": {hostile{end: strings.ReplaceAll(plainReply, "done", `\u001b[2J\u202e`)}, true, "note  consent/declined"},
		"a state of 128 KiB":                {hostile{asks: strings.ReplaceAll(asking(plainForm), `"requestState":"s"`, `"requestState":"`+strings.Repeat("{}", 1<<16)+`"`)}, true, "note  consent/declined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // many wait for what never comes
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				report, err := prove.Run(ctx, prove.Subject{Dial: dialPipes(t, tc.server)}, prove.Scenario{Tool: "t"}, &prove.Options{Patience: 5 * time.Second})
				if !tc.proves {
					require.ErrorContains(t, err, tc.says)
					return
				}
				require.NoError(t, err)
				require.Contains(t, report.String(), tc.says)
				require.NotContains(t, report.String(), "\u202e")
				require.NotContains(t, report.String(), "\x1b")
				require.NotContains(t, report.String(), "\u009b")
				require.Less(t, len(report.String()), 1<<18)
			})
		})
	}
}

// keepsLittle requires, behind the last subtest, that the memory is as it was.
func keepsLittle(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.Cleanup(func() {
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(64<<20), "what the servers sent was kept")
	})
}

// A proof that is ended keeps its findings.
func TestAProofThatIsEndedKeepsItsFindings(t *testing.T) {
	web := httptest.NewServer(hostile{})
	defer web.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	report, err := prove.Run(ctx, prove.Subject{Dial: prove.HTTP(web.URL, nil)}, prove.Scenario{Tool: "t"}, &prove.Options{
		Progress: func(f prove.Finding) {
			if f.Rule.Name == "state/forged" {
				cancel(enough)
			}
		},
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, report.Findings, len(prove.Rules()))
	for i, f := range report.Findings {
		require.Equal(t, prove.Rules()[i].Name, f.Rule.Name)
		if i < 2 { // up to state/forged
			require.NotContains(t, f.Detail, "was ended", f.Rule.Name)
			continue
		}
		require.Equal(t, prove.Skip, f.Outcome, f.Rule.Name)
		require.Equal(t, "the proof was ended before", f.Detail)
	}
}

// A rule whose request is cut off proves nothing about the server.
func TestARuleThatIsCutOffIsSkipped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var trying atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if trying.Load() {
			cancel()
			_, _ = io.Copy(io.Discard, r.Body) // a server sees a client hang up behind the body
			<-r.Context().Done()
			return
		}
		hostile{}.ServeHTTP(w, r)
	}))
	defer web.Close()
	report, err := prove.Run(ctx, prove.Subject{Dial: prove.HTTP(web.URL, nil)}, prove.Scenario{Tool: "t"}, &prove.Options{
		Progress: func(prove.Finding) { trying.Store(true) },
	})
	require.ErrorIs(t, err, context.Canceled)
	var meanwhile []string
	for i, f := range report.Findings {
		require.NotEqual(t, prove.Fail, f.Outcome, f.String())
		if f.Detail == "the proof was ended meanwhile" {
			require.Equal(t, prove.Skip, f.Outcome)
			meanwhile = append(meanwhile, f.Rule.Name)
			for _, later := range report.Findings[i+1:] {
				require.Equal(t, "the proof was ended before", later.Detail, later.Rule.Name)
			}
		}
	}
	require.Len(t, meanwhile, 1)
}

// Results and questions are compared with the specification's definitions, beyond
// the parts that a client reads.
func TestResultsAreComparedWithTheDefinitions(t *testing.T) {
	result := func(block string) string {
		return `{"resultType":"complete","content":[{"type":"text","text":"done"` + block + `}]}`
	}
	asks := func(params string) string {
		return `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{` + params + `}}},"requestState":"s"}`
	}
	const form = `"message":"?","requestedSchema":` + plainForm
	for _, tc := range []struct {
		explanation string
		server      hostile
		broken      string // the rule; "" for none
	}{
		{"as it should be", hostile{}, ""},
		{"with annotations", hostile{end: result(`,"annotations":{"priority":1,"audience":["user"]}`)}, ""},
		{"a priority of seven", hostile{end: result(`,"annotations":{"priority":7}`)}, "result/schema"},
		{"for an audience of robots", hostile{end: result(`,"annotations":{"audience":["robot"]}`)}, "result/schema"},
		{"_meta that is a text", hostile{end: result(`,"_meta":"x"`)}, "result/schema"},
		{"with a form's mode", hostile{asks: asks(`"mode":"form",` + form)}, ""},
		{"a form that is no object", hostile{asks: asks(`"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object"}}}`)}, "result/schema"},
		{"a form whose property has no type", hostile{asks: asks(`"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}}`)}, "result/schema"},
	} {
		t.Run(tc.explanation, inBubble(func(t *testing.T) {
			report := must(prove.Run(t.Context(), prove.Subject{Dial: dialPipes(t, tc.server)}, prove.Scenario{Tool: "t"},
				&prove.Options{Only: []string{"result/schema"}}))(t)
			var broken string
			for _, f := range report.Failures(prove.Ours) {
				broken += f.Rule.Name
			}
			require.Equal(t, tc.broken, broken, report.String())
		}))
	}
}

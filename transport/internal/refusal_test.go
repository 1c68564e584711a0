package internal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/internal/message"
)

func toolCall(params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
}

func arrays(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

var refusals = []struct{ explanation, in, says string }{
	{"one answer", toolCall(`{"name":"t","inputResponses":{"a":{"action":"accept","content":{"x":1,"y":{"x":1}}},"b":{"action":"accept","content":{"x":1}}}}`), ""},
	{"two answers to a question", toolCall(`{"inputResponses":{"a":{"action":"decline"},"a":{"action":"accept"}}}`), `params: an answer has two members "a"`},
	{"two actions", toolCall(`{"inputResponses":{"a":{"action":"decline","action":"accept"}}}`), `"action"`},
	{"two values of a property", toolCall(`{"inputResponses":{"a":{"action":"accept","content":{"sum":10,"sum":1000}}}}`), `"sum"`},
	{"deep down", toolCall(`{"inputResponses":{"a":{"content":{"x":[1,{"y":[{"z":1,"z":2}]}]}}}}`), `"z"`},
	{"spelled with an escape", toolCall(`{"inputResponses":{"a":{"content":{"sum":10,"\u0073um":1000}}}}`), `"sum"`},
	{"bytes that decode to one character", toolCall("{\"inputResponses\":{\"a\":{\"content\":{\"x\xff\":1,\"x\xfe\":2}}}}"), `"x�"`},
	{"under an escaped name", toolCall(`{"inputRes\u0070onses":{"a":{"content":{"x":1,"x":2}}}}`), `an answer has two members "x"`},
	{"behind many others", toolCall(`{"inputResponses":{"a":{"content":{` + many(20) + `,"p3":0}}}}`), `"p3"`},
	{"among many others", toolCall(`{"inputResponses":{"a":{"content":{` + many(20) + `,"p15":0}}}}`), `"p15"`},
	{"two sets of answers", toolCall(`{"inputResponses":{},"inputResponses":{}}`), `params: the params have two members "inputResponses"`},
	{"two states", toolCall(`{"requestState":"a","requestState":"b"}`), `"requestState"`},
	{"two params", `{"params":{},"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, `the message has two members "params"`},
	{"two methods", `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{}}`, `the message has two members "method"`},
	{"two ids", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `the message has two members "id"`},
	{"two arguments", toolCall(`{"arguments":{"x":1,"x":2}}`), `an argument has two members "x"`},
	{"an argument deep down", toolCall(`{"arguments":{"y":[{"x":1,"x":2}]}}`), `an argument has two members "x"`},
	{"two members of _meta", toolCall(`{"_meta":{"progressToken":1,"progressToken":2}}`), `_meta has two members "progressToken"`},
	{"two members of another value", toolCall(`{"ref":{"name":"a","name":"b"}}`), `a value has two members "name"`},
	{"a string that looks like one", toolCall(`{"inputResponses":{"a":{"content":{"x":"{\"y\":1,\"y\":2}"}}}}`), ""},
	{"one name at two depths", toolCall(`{"inputResponses":{"x":{"x":{"x":[{"x":1},{"x":1}]}}}}`), ""},
	{"values that are equal", toolCall(`{"inputResponses":{"a":["x","x",["x","x"]]}}`), ""},
	{"no params", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, ""},
	{"params that are a list", toolCall(`["inputResponses",{"x":1,"x":2}]`), ""},
	{"an answer over the session", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"x":1}}}`, ""},
	{"an ambiguous one", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"x":1,"x":2}}}`, `an answer has two members "x"`},
	{"two actions of one", `{"jsonrpc":"2.0","id":1,"result":{"action":"decline","action":"accept"}}`, `"action"`},
	{"two results", `{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`, `the message has two members "result"`},
	{"the result of a request means nothing", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{"x":1,"x":2}}`, ""},
	{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`, ""},

	{"an id with half a character", `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, "the id has half a character in it"},
	{"and the text of one", `{"jsonrpc":"2.0","id":"\\ufffd\ud800","method":"ping"}`, "the id has half a character in it"},
	{"and a whole one", `{"jsonrpc":"2.0","id":"\uFFFD\ufffd�\ud801","method":"ping"}`, "the id has half a character in it"},
	{"an id with whole ones", `{"jsonrpc":"2.0","id":"\uFFFD\ufffd�\\ufffd\\\ufffd","method":"ping"}`, ""},

	{"the deepest", toolCall(`{"arguments":{"x":` + arrays(64-3) + `}}`), ""},
	{"one deeper", toolCall(`{"arguments":{"x":` + arrays(64-2) + `}}`), "the message is nested more than 64 deep"},
	{"far deeper", toolCall(`{"_meta":{"x":` + arrays(9000) + `}}`), "the message is nested more than 64 deep"},
	{"an answer that is deeper", `{"jsonrpc":"2.0","id":1,"result":{"content":` + arrays(64) + `}}`, "the message is nested more than 64 deep"},
	{"a list that is no message", arrays(64 + 1), ""},
	{"the largest _meta", toolCall(`{"_meta":{"x":"` + strings.Repeat("y", 65536-8) + `"}}`), ""},
	{"one byte more", toolCall(`{"_meta":{"x":"` + strings.Repeat("y", 65536-7) + `"}}`), "_meta is over 65536 bytes"},
	{"many members", `{"jsonrpc":"2.0",` + many(100-1) + `}`, ""},
	{"too many members", `{"jsonrpc":"2.0",` + many(100) + `}`, "the message has over 100 members"},
	{"many params", toolCall(`{` + many(100) + `}`), ""},
	{"too many params", toolCall(`{` + many(100+1) + `}`), "params: the params have over 100 members"},
	{"a megabyte of text", toolCall(`{"arguments":{"x":"` + strings.Repeat("y", 1<<20) + `"}}`), ""},
	{"megabytes of records", toolCall(`{"arguments":{"rows":[` + strings.Repeat(`{"id":1,"tags":["a","b"],"at":{"x":1}},`, 30_000) + `0]}}`), ""},
	{"megabytes, forty deep", toolCall(`{"arguments":{"x":` + strings.Repeat("[", 40) + strings.Repeat("0,", 700<<10) + "0" + strings.Repeat("]", 40) + `}}`), "nested too deep for its size"},

	{"an integer that is exact", toolCall(`{"arguments":{"x":[9007199254740992,-9007199254740992,18014398509481984,1e300,0.12345678901234567890]}}`), ""},
	{"one that is not", toolCall(`{"arguments":{"order":{"ids":[1,9007199254740993]}}}`), "arguments.order.ids[1] is a number that readers of JSON round"},
	{"with zeros behind a point", toolCall(`{"arguments":{"x":[9007199254740992.0,9007199254740993.5,9007199254740993.00]}}`), "arguments.x[2] is a number"},
	{"below zero", toolCall(`{"arguments":{"x":-9007199254740993}}`), "arguments.x is a number"},
	{"under a name that is not plain", toolCall(`{"arguments":{"\u202e":9007199254740993}}`), `arguments."\u202e" is a number`},
	{"of a hundred thousand digits", toolCall(`{"arguments":{"x":1` + strings.Repeat("0", 100_000) + `}}`), "arguments.x is a number"},
	{"elsewhere", toolCall(`{"_meta":{"x":9007199254740993}}`), ""},
	{"of another method", `{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"x":9007199254740993}}}`, ""},
	{"before the method is known", `{"params":{"arguments":{"x":9007199254740993}},"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "arguments.x is a number"},
}

func TestRefusal(t *testing.T) {
	require.NotEmpty(t, refusals)
	for _, c := range refusals {
		t.Run(c.explanation, func(t *testing.T) {
			require.True(t, json.Valid([]byte(c.in)))
			refusal := message.Refusal([]byte(c.in))
			if c.says == "" {
				require.Nil(t, refusal)
				return
			}
			require.NotNil(t, refusal)
			require.Contains(t, refusal.Message, c.says)
		})
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"p%d":%d,`, i, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func TestARefusalShowsLittleOfTheMessage(t *testing.T) {
	for _, text := range []string{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"NAME":{"NAME":1,"NAME":2}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"NAME":9007199254740993}}}`} {
		refusal := message.Refusal([]byte(strings.ReplaceAll(text, "NAME", `a\u202e\u000a`)))
		require.NotNil(t, refusal)
		require.Contains(t, refusal.Message, `"a\u202e\n"`)
		require.Less(t, len(message.Refusal([]byte(strings.ReplaceAll(text, "NAME", strings.Repeat("é\\u0000", 1<<14)))).Message), 400)
	}
}

func TestArgumentsThatAreNullAreNone(t *testing.T) {
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":null}}`:              `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}  }}`,
		`{"params":{"argument\u0073": null ,"name":"t"},"method":"tools\/call"}`:                  `{"params":{"argument\u0073": {}   ,"name":"t"},"method":"tools\/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"x":null}}}`:        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"x":null}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":null}}`:                       `{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":null}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":{"arguments":null},"y":{}}}`: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":{"arguments":null},"y":{}}}`,
	} {
		text := []byte(in)
		require.Nil(t, message.Refusal(text))
		require.Equal(t, want, string(text))
	}
}

// Searching allocates in proportion to a message, however it is made.
func TestTheCostOfLookingForRepeatedMembersIsLinear(t *testing.T) {
	for name, build := range map[string]func(n int) string{
		"one large object":    func(n int) string { return "{" + many(n) + "}" },
		"many small objects":  func(n int) string { return "[" + strings.Repeat(`{"a":1,"b":2},`, n) + "0]" },
		"objects in objects":  func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) },
		"lists in lists":      func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) },
		"one long string":     func(n int) string { return `{"a":"` + strings.Repeat(`\"`, 10*n) + `"}` },
		"names with escapes":  func(n int) string { return strings.ReplaceAll("{"+many(n)+"}", `"p`, `"\u0070`) },
		"many half-open ones": func(n int) string { return "[" + strings.Repeat(`{"a":[{"b":[]}]},`, n) + "0]" },
	} {
		t.Run(name, func(t *testing.T) {
			cost := func(n int) (perByte float64) {
				text := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"inputResponses":` + build(n) + `}}`)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				message.Refusal(text)
				runtime.ReadMemStats(&after)
				return float64(after.TotalAlloc-before.TotalAlloc) / float64(len(text))
			}
			cost(1000)
			require.LessOrEqual(t, cost(8000), 4*cost(1000)+100)
		})
	}
}

// FuzzRefusal holds the search against a reader that keeps every name.
func FuzzRefusal(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"a":1,"a":2}`, `[{"a":{"b":[]}},{"a":{}}]`, `{"\u0061":1,"a":2}`, `{"a":{"":1,"":2}}`, `"\""`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if !json.Valid(value) {
			return
		}
		d := json.NewDecoder(bytes.NewReader(value))
		d.UseNumber()
		want := twice(t, d)
		refusal := message.Refusal(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":%s}`, value))
		if refusal != nil && strings.Contains(refusal.Message, "nested") {
			return
		}
		require.Equal(t, want, refusal != nil, "%q", value)
	})
}

// twice reads one value and reports whether an object of it has a name twice.
func twice(t *testing.T, d *json.Decoder) bool {
	token, err := d.Token()
	require.NoError(t, err)
	if _, isContainer := token.(json.Delim); !isContainer {
		return false
	}
	found, names := false, map[any]bool{}
	for d.More() {
		if token == json.Delim('{') {
			name, err := d.Token()
			require.NoError(t, err)
			found = found || names[name]
			names[name] = true
		}
		found = twice(t, d) || found
	}
	_, err = d.Token()
	require.NoError(t, err)
	return found
}

package wstransport_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/internal/message"
)

func TestDecodeRefuses(t *testing.T) {
	cases := []struct{ explanation, in string }{
		{"nothing", ``},
		{"not JSON", `hello`},
		{"cut short", `{"jsonrpc":"2.0","id":1,"method":"ping"`},
		{"two messages in one", `{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}`},
		{"a batch", `[{"jsonrpc":"2.0","method":"a"}]`},
		{"null", `null`},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`},
		{"no version", `{"id":1,"method":"ping"}`},
		{"a name in another case is another name", `{"jsonrpc":"2.0","Method":"ping"}`},
		{"neither method nor id", `{"jsonrpc":"2.0","result":{}}`},
		{"an error that answers nothing", `{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}`},
		{"method of a wrong type", `{"jsonrpc":"2.0","id":1,"method":7}`},
		{"id of a wrong type", `{"jsonrpc":"2.0","id":{},"method":"ping"}`},
		{"id out of range", `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`},
		{"id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`},
		{"id with an exponent", `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`},
		{"id with a fraction in an error", `{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":"m"}}`},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			msg, err := message.Decode([]byte(c.in))
			require.Error(t, err)
			require.Nil(t, msg)
		})
	}
}

func TestDecodeAccepts(t *testing.T) {
	cases := []struct{ explanation, in string }{
		{"a call", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		{"space wherever it may be", "\r\n{\t\"jsonrpc\" :\r\"2.0\" ,\n\"id\": 1 , \"result\" : [ {\"a\":\"]}\\\"\"} ] }\n"},
		{"escaped names", `{"\u006asonrpc":"2.0","id":1,"metho\u0064":"ping"}`},
		{"other members, nested", `{"x":{"method":"no","y":[{"id":9}]},"jsonrpc":"2.0","method":"m","id":"1"}`},
		{"the last of two members counts", `{"jsonrpc":"2.0","method":"a","method":"b"}`},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":[]}}`},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			msg, err := message.Decode([]byte(c.in))
			require.NoError(t, err)
			requireSame(t, jsonrpc.DecodeMessage, []byte(c.in), msg)
		})
	}
}

func TestDecodeDoesNotKeepItsInput(t *testing.T) {
	in := []byte(`{"jsonrpc":"2.0","id":"abc","method":"m","params":{"a":1}}`)
	msg, err := message.Decode(in)
	require.NoError(t, err)
	for i := range in {
		in[i] = 'x'
	}
	req := msg.(*jsonrpc.Request)
	require.Equal(t, "abc", req.ID.Raw())
	require.Equal(t, "m", req.Method)
	require.JSONEq(t, `{"a":1}`, string(req.Params))
}

func TestAppendIsTheEncodingOfTheSDK(t *testing.T) {
	number, err := jsonrpc.MakeID(float64(-7))
	require.NoError(t, err)
	text, err := jsonrpc.MakeID("a\"\\\u2028<é")
	require.NoError(t, err)
	cases := []struct {
		explanation string
		msg         jsonrpc.Message
	}{
		{"call", &jsonrpc.Request{ID: number, Method: "tools/call", Params: json.RawMessage(`{"name":"x"}`)}},
		{"call without params", &jsonrpc.Request{ID: text, Method: "ping"}},
		{"notification with an odd name", &jsonrpc.Request{Method: "a\"\n<b>", Params: json.RawMessage(`[]`)}},
		{"response", &jsonrpc.Response{ID: number, Result: json.RawMessage(`{"content":[]}`)}},
		{"response to a named call", &jsonrpc.Response{ID: text, Result: json.RawMessage(`1`)}},
		{"error", &jsonrpc.Response{ID: text, Error: &jsonrpc.Error{Code: -32602, Message: "no", Data: json.RawMessage(`{"a":[1]}`)}}},
		{"error of another type", &jsonrpc.Response{ID: number, Error: errors.New("plain")}},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			want, err := jsonrpc.EncodeMessage(c.msg)
			require.NoError(t, err)
			got, err := message.Append([]byte("used before")[:0], c.msg)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got))
			back, err := message.Decode(got)
			require.NoError(t, err)
			requireSame(t, jsonrpc.DecodeMessage, got, back)
		})
	}
}

func TestAppendRefusesWhatIsNoMessage(t *testing.T) {
	_, err := message.Append(nil, nil)
	require.ErrorContains(t, err, "cannot encode")
}

// requireSame holds a message against what another decoder makes of the bytes.
func requireSame(t *testing.T, other func([]byte) (jsonrpc.Message, error), data []byte, got jsonrpc.Message) {
	t.Helper()
	want, err := other(data)
	require.NoError(t, err, "%q", data)
	if req, ok := got.(*jsonrpc.Request); ok {
		wantReq, ok := want.(*jsonrpc.Request)
		require.True(t, ok, "%q", data)
		require.Equal(t, wantReq.ID, req.ID, "%q", data)
		require.Equal(t, wantReq.Method, req.Method, "%q", data)
		require.Equal(t, string(wantReq.Params), string(req.Params), "%q", data)
		return
	}
	wantResp, ok := want.(*jsonrpc.Response)
	require.True(t, ok, "%q", data)
	resp := got.(*jsonrpc.Response)
	require.Equal(t, wantResp.ID, resp.ID, "%q", data)
	require.Equal(t, wantResp.Error, resp.Error, "%q", data)
	require.Equal(t, string(wantResp.Result), string(resp.Result), "%q", data)
}

// FuzzDecode: whatever is accepted here is accepted by the SDK's decoder, and
// means the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		` {"jsonrpc":"2.0","method":"notifications/progress","params":{"a":[1,"b",null]}} `,
		`{"jsonrpc":"2.0","id":"x","result":{"resultType":"input_required"}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no","data":{}}}`,
		`{"jsonrpc":"2.0","id":3,"error":null,"result":null}`,
		`{"jsonrpc":"2.0","id":null,"method":"","params":null}`,
		`{"jsonrpc":"2.0","id":1.5e3,"ID":2,"method":"a","method":"b","Params":1}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"\u00e9"}`,
		`{"jsonrpc":"2.0","id":1,"method":null}`,
		"{\t\"jsonrpc\" :\r\"2.0\" ,\n\"id\": 1 , \"result\" : [ {\"a\":\"]}\\\"\"} ] }",
		`{"\u006asonrpc":"2.0","\"":1,"id":-0,"method":"a\\","params":[[],{"b":"}"}]}`,
		`{"jsonrpc":"2.0","id":1e400,"method":"a"}`,
		`[]`, `{}`, `null`, `"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msg, err := message.Decode(data)
		if err != nil {
			return
		}
		if !bytes.Contains(data, []byte("requestId")) && !message.HasLarge(msg) { // which go-sdk rounds
			requireSame(t, jsonrpc.DecodeMessage, data, msg)
		}
		again, err := message.Append(nil, msg)
		require.NoError(t, err)
		require.True(t, json.Valid(again), "%q", again)
	})
}

func TestMember(t *testing.T) {
	const object = `{"a":{"b":[1],"c":null,"b":"last"},"A":1,"d":"x\u0041","a2":{}}`
	for _, test := range []struct{ path, want string }{
		{"a b", `"last"`}, {"a c", "null"}, {"A", "1"}, {"a B", ""}, {"b", ""}, {"a b c", ""}, {"a2 x", ""}, {"d", `"x\u0041"`},
	} {
		require.Equal(t, test.want, string(message.Member([]byte(object), strings.Fields(test.path)...)), test.path)
	}
	for _, none := range []string{``, `null`, `[]`, `"a"`, `7`} {
		require.Nil(t, message.Member([]byte(none), "a"), none)
	}
	text, ok := message.Text([]byte(object), "d")
	require.True(t, ok)
	require.Equal(t, "xA", text)
	_, ok = message.Text([]byte(object), "A")
	require.False(t, ok)
}

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

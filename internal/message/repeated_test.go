package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAmbiguous(t *testing.T) {
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	cases := []struct{ explanation, in, name string }{
		{"one answer", call(`{"name":"t","inputResponses":{"a":{"action":"accept","content":{"x":1,"y":{"x":1}}},"b":{"action":"accept","content":{"x":1}}}}`), ""},
		{"two answers to a question", call(`{"inputResponses":{"a":{"action":"decline"},"a":{"action":"accept"}}}`), "a"},
		{"two actions", call(`{"inputResponses":{"a":{"action":"decline","action":"accept"}}}`), "action"},
		{"two values of a property", call(`{"inputResponses":{"a":{"action":"accept","content":{"sum":10,"sum":1000}}}}`), "sum"},
		{"deep down", call(`{"inputResponses":{"a":{"content":{"x":[1,{"y":[{"z":1,"z":2}]}]}}}}`), "z"},
		{"spelled with an escape", call(`{"inputResponses":{"a":{"content":{"sum":10,"\u0073um":1000}}}}`), "sum"},
		{"bytes that decode to one character", call("{\"inputResponses\":{\"a\":{\"content\":{\"x\xff\":1,\"x\xfe\":2}}}}"), "x\ufffd"},
		{"under an escaped name", call(`{"inputRes\u0070onses":{"a":{"content":{"x":1,"x":2}}}}`), "x"},
		{"behind many others", call(`{"inputResponses":{"a":{"content":{` + many(20) + `,"p3":0}}}}`), "p3"},
		{"among many others", call(`{"inputResponses":{"a":{"content":{` + many(20) + `,"p15":0}}}}`), "p15"},
		{"two sets of answers", call(`{"inputResponses":{},"inputResponses":{}}`), "inputResponses"},
		{"two params", `{"params":{},"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, "params"},
		{"arguments are not answers", call(`{"arguments":{"x":1,"x":2}}`), ""},
		{"nor is a member of arguments", call(`{"arguments":{"inputResponses":{"x":1,"x":2}}}`), ""},
		{"a string that looks like one", call(`{"inputResponses":{"a":{"content":{"x":"{\"y\":1,\"y\":2}"}}}}`), ""},
		{"one name at two depths", call(`{"inputResponses":{"x":{"x":{"x":[{"x":1},{"x":1}]}}}}`), ""},
		{"values that are equal", call(`{"inputResponses":{"a":["x","x",["x","x"]]}}`), ""},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, ""},
		{"params that are a list", call(`["inputResponses",{"x":1,"x":2}]`), ""},
		{"an answer over the session", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"x":1}}}`, ""},
		{"an ambiguous one", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"x":1,"x":2}}}`, "x"},
		{"two actions of one", `{"jsonrpc":"2.0","id":1,"result":{"action":"decline","action":"accept"}}`, "action"},
		{"two results", `{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`, "result"},
		{"the result of a request means nothing", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{"x":1,"x":2}}`, ""},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`, ""},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			require.True(t, json.Valid([]byte(c.in)))
			name, found := Ambiguous([]byte(c.in))
			require.Equal(t, c.name, name)
			require.Equal(t, c.name != "", found)
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

func TestAmbiguousErrorShowsTheNameAlone(t *testing.T) {
	require.Equal(t, `invalid params: an answer has two members "a\u202e\n"`, AmbiguousError("a\u202e\n").Message)
	require.Less(t, len(AmbiguousError(strings.Repeat("é\x00", 1<<20)).Message), 400)
}

// Searching allocates in proportion to a message, however it is made, and compares
// each name with a few others at most.
func TestTheCostOfLookingForRepeatedMembersIsLinear(t *testing.T) {
	for name, message := range map[string]func(n int) string{
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
				text := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"inputResponses":` + message(n) + `}}`)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, found := Ambiguous(text)
				runtime.ReadMemStats(&after)
				require.False(t, found)
				return float64(after.TotalAlloc-before.TotalAlloc) / float64(len(text))
			}
			cost(2000)
			require.LessOrEqual(t, cost(32_000), 4*cost(2000)+100)
		})
	}
	t.Run("few names are compared", func(t *testing.T) { // which takes time, and no memory
		c := container{object: true}
		for i := range 1000 {
			require.True(t, c.add(fmt.Append(nil, i)))
		}
		require.LessOrEqual(t, len(c.few), 16)
		for i := range 1000 {
			require.False(t, c.add(fmt.Append(nil, i)))
		}
	})
}

// FuzzAmbiguous holds the search against a reader that keeps every name.
func FuzzAmbiguous(f *testing.F) {
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
		_, found := repeated(value)
		require.Equal(t, want, found, "%q", value)
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

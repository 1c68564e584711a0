package statecodec_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// Each group is one value in several spellings; no two groups are one value.
var sameArguments = [][]string{
	{``, `{}`, ` { } `, "\n{\t}\r"},
	{`null`, ` null`},
	{`true`}, {`false`}, {`[]`, `[ ]`}, {`""`}, {`[[]]`}, {`[{}]`}, {`{"":{}}`}, {`[""]`}, {`"null"`}, {`[null]`},
	{`0`, `-0`, `0.0`, `0e5`, `-0.00E-7`, `0e999999999`},
	{`1`, `1.0`, `1e0`, `1E+0`, `10e-1`, `0.1e1`, `100.00e-002`},
	{`-1`, `-1.0`},
	{`10`, `1e1`, `1.0e01`},
	{`100`, `1e2`, `100.0`},
	{`1e-2`, `0.01`, `0.010`},
	{`1e999999999`, `1e+0999999999`}, {`1e-999999999`}, {`1e999999998`},
	{`"1"`}, {`[1]`}, {`[10]`}, {`[1,0]`}, {`[0,1]`}, {`"[1]"`},
	{`9007199254740993`, `9007199254740993.0`}, {`9007199254740992`},
	{`18446744073709551616`}, {`18446744073709551617`},
	{`0.1`, `1e-1`}, {`0.10000000000000001`},
	{`"a"`, `"\u0061"`}, {`"A"`}, {`"\\u0061"`, `"\u005cu0061"`},
	{`"/"`, `"\/"`}, {`"\""`, `"\u0022"`}, {`"\n"`, `"\u000a"`, `"\u000A"`}, {`"\\n"`}, {`"\u0000"`}, {`"\u007f"`, "\"\x7f\""},
	{`"é"`, `"\u00e9"`, `"\u00E9"`}, {"\"e\u0301\"", `"e\u0301"`}, {`"😀"`, `"\ud83d\ude00"`}, {`"�"`, `"\ufffd"`},
	{`{"a":1,"b":2}`, `{"b":2,"a":1}`, ` { "b" : 2.0 , "\u0061" : 1 } `},
	{`{"a":2,"b":1}`}, {`{"A":1,"b":2}`, `{"b":2,"A":1}`}, {`{"maxRows":1,"maxRow":2,"Ä":3}`, `{"Ä":3,"maxRow":2,"maxRows":1}`}, {`{"a":1}`}, {`{"a":1,"b":2,"c":null}`},
	{`{"a":{"x":[{"q":1,"p":2}],"w":0},"a!":1}`, `{"a!":1,"a":{"w":0,"x":[{"p":2,"q":1}]}}`},
	{`{"a":"b\",\"c\":\"d"}`}, {`{"a":"b","c":"d"}`, `{"c":"d","a":"b"}`},
	{`{"\"":1,"!":2,"#":3}`, `{"#":3,"\u0022":1,"!":2}`},
	{strings.Repeat("[", 128) + strings.Repeat("]", 128)},
}

var refusedArguments = []struct{ explanation, arguments string }{
	{"white space alone is no value", " "},
	{"a name twice", `{"a":1,"a":1}`},
	{"a name twice, escaped once", `{"a":1,"\u0061":2}`},
	{"a name twice, apart", `{"a":1,"b":2,"a":3}`},
	{"a name twice, further in", `[{"x":{"b":1,"a":1,"b":1}}]`},
	{"two names that differ in case", `{"amount":1,"Amount":1000}`},
	{"in the other order", `{"Amount":1000,"amount":1}`},
	{"apart", `{"AMOUNT":1,"currency":"EUR","amount":1000}`},
	{"further in", `{"orders":[{"to":{"iban":"a","Iban":"b"}}]}`},
	{"beside an escape", `{"a\u0062":1,"A\u0042":2}`},
	{"a Kelvin sign is a k", `{"k":1,"\u212a":2}`}, {"a long s is an s", `{"ms":1,"m\u017f":2}`},
	{"beyond ASCII", `{"é":1,"É":2}`}, {"three sigmas", `{"ς":1,"b":2,"σ":3}`},
	{"two values", `1 2`}, {"two objects", `{}{}`}, {"a zero byte after", "{}\x00"},
	{"a comma too many", `[1,]`}, {"a comma too early", `[,1]`}, {"no comma", `[1 2]`},
	{"a comma too many", `{"a":1,}`}, {"a comma too early", `{,"a":1}`}, {"no comma", `{"a":1 "b":2}`},
	{"no colon", `{"a" 1}`}, {"no value", `{"a":}`}, {"no name", `{:1}`}, {"a name that is no string", `{a:1}`}, {"a number for a name", `{1:1}`},
	{"not closed", `{"a":1`}, {"not closed", `[1`}, {"not closed", `"a`}, {"closed by another", `[1}`}, {"not opened", `}`},
	{"cut in an escape", `"\`}, {"cut in an escape", `"\u00`}, {"no such escape", `"\x41"`}, {"no hexadecimal", `"\u00g0"`}, {"a sign in an escape", `"\u+041"`},
	{"a control character", "\"\n\""}, {"a zero byte", "\"\x00\""},
	{"not UTF-8", "\"\xff\""}, {"an overlong encoding", "\"\xc0\x80\""}, {"an encoded surrogate", "\"\xed\xa0\x80\""},
	{"half a pair", `"\ud800"`}, {"the other half", `"\udc00"`}, {"the pair reversed", `"\ude00\ud83d"`}, {"half, then text", `"\ud83dx"`},
	{"half, then another escape", `"\ud83d\n"`}, {"half twice", `"\ud83d\ud83d"`}, {"half, then a letter's escape", `"\ud83d\u0061"`},
	{"leading zero", `01`}, {"leading zero", `-01`}, {"plus", `+1`}, {"minus alone", `-`}, {"no digit before", `.5`}, {"no digit after", `1.`},
	{"no exponent", `1e`}, {"no exponent", `1e+`}, {"not a number", `NaN`}, {"not a number", `0x10`}, {"two points", `1.2.3`},
	{"ten digits of exponent", `1e1000000000`}, {"and for zero", `0e1000000000`}, {"and below", `1e-1000000000`}, {"ten digits in canonical form", `10e999999999`}, {"and below", `0.1e-999999999`}, {"beyond int64", `1e99999999999999999999`},
	{"cut", `tru`}, {"capital", `True`}, {"and more", `nullx`}, {"a comment", `{}//`}, {"a byte order mark", "\ufeff{}"},
	{"too deep", strings.Repeat("[", 129) + strings.Repeat("]", 129)},
	{"too deep", strings.Repeat(`{"a":`, 129) + `1` + strings.Repeat("}", 129)},
	{"far too deep", strings.Repeat("[", 100000)},
}

func argumentBinding(arguments string) statecodec.Binding {
	return statecodec.Binding{Arguments: []byte(arguments)}
}

func TestSpellingDoesNotMatterAndValueDoes(t *testing.T) {
	c := newCodec(t, statecodec.Options{})
	for i, group := range sameArguments {
		for _, sealed := range group {
			token, err := c.Seal(argumentBinding(sealed), nil)
			require.NoError(t, err, sealed)
			for j, other := range sameArguments {
				for _, presented := range other {
					_, err := c.Open(argumentBinding(presented), token)
					if i == j {
						require.NoError(t, err, "sealed %q, presented %q", sealed, presented)
						continue
					}
					requireRefused(t, statecodec.ReasonForged, err, "sealed %q, presented %q", sealed, presented)
				}
			}
		}
	}
}

func TestArgumentsWithoutOneMeaningAreRefused(t *testing.T) {
	c := newCodec(t, statecodec.Options{})
	token := must(c.Seal(argumentBinding(`{}`), nil))
	for _, tc := range refusedArguments {
		sealed, err := c.Seal(argumentBinding(tc.arguments), nil)
		requireUsage(t, err, "arguments")
		require.ErrorIs(t, err, statecodec.ErrArguments, tc.explanation)
		require.Empty(t, sealed)
		_, err = c.Open(argumentBinding(tc.arguments), token)
		requireRefused(t, statecodec.ReasonArguments, err, tc.explanation)
	}
}

// Values made at random, spelled twice at random: the spellings always meet,
// and a value with one scalar replaced never does.
func TestRandomArguments(t *testing.T) {
	c := newCodec(t, statecodec.Options{})
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		value := randomValue(r, 4)
		token := must(c.Seal(argumentBinding(respell(r, value)), nil))
		again := respell(r, value)
		_, err := c.Open(argumentBinding(again), token)
		require.NoError(t, err, "seed %d: %s", seed, again)
		wrapped := fmt.Sprintf("[%s]", again)
		_, err = c.Open(argumentBinding(wrapped), token)
		requireRefused(t, statecodec.ReasonForged, err)
	}
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(6); {
	case depth > 0 && n == 0:
		object := map[string]any{}
		for range r.IntN(6) {
			object[randomString(r)] = randomValue(r, depth-1)
		}
		return object
	case depth > 0 && n == 1:
		array := []any{}
		for range r.IntN(6) {
			array = append(array, randomValue(r, depth-1))
		}
		return array
	case n == 2:
		return json.Number(fmt.Sprint(r.IntN(1_000_000) * 10))
	case n == 3:
		return []any{nil, true, false}[r.IntN(3)]
	}
	return randomString(r)
}

func randomString(r *rand.Rand) string {
	var s []rune
	for range r.IntN(8) {
		s = append(s, []rune{'a', 'b', '"', '\\', '/', '\n', 0, 'é', '😀', 0x2028}[r.IntN(10)])
	}
	return string(s)
}

func respell(r *rand.Rand, value any) string {
	space := strings.Repeat(" ", r.IntN(3))
	switch v := value.(type) {
	case map[string]any:
		var parts []string
		for name, member := range v { // in an order of Go's choosing
			parts = append(parts, space+respell(r, name)+space+":"+respell(r, member))
		}
		return "{" + strings.Join(parts, ",") + space + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, space+respell(r, item)+space)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case json.Number:
		return []string{string(v), string(v) + ".0", string(v) + "e0", string(v) + "0e-1"}[r.IntN(4)]
	case string:
		if r.IntN(2) == 0 {
			return `"` + escapeAll(v) + `"`
		}
	}
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func escapeAll(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// Whoever asks first learns what Seal would say.
func TestCheckArgumentsSaysWhatSealWouldSay(t *testing.T) {
	codec := statecodec.NewEphemeral()
	said := map[bool]int{}
	for _, raw := range []string{``, `{}`, `null`, `{"a":1}`, `{"a":[1,{"b":"\u00e9"}]}`, `{"a":1,"a":2}`, `{"a":"\ud800"}`, `{"a":1e9999999999}`, `{`, `{} {}`} {
		_, err := codec.Seal(statecodec.Binding{Arguments: []byte(raw)}, nil)
		require.Equal(t, err, statecodec.CheckArguments([]byte(raw)), raw)
		said[err == nil]++
	}
	require.Len(t, said, 2)
}

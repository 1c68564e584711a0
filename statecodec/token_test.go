package statecodec_test

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// tampered are the reasons for tokens that nobody with a key has made.
var tampered = []statecodec.Reason{
	statecodec.ReasonMalformed, statecodec.ReasonWrongLength, statecodec.ReasonUnknownVersion,
	statecodec.ReasonUnknownKey, statecodec.ReasonForged,
}

func requireTampered(t *testing.T, c *statecodec.Codec, token string) {
	t.Helper()
	_, err := c.Open(fullBinding, token)
	if refused, ok := err.(*statecodec.TokenError); !ok || !slices.Contains(tampered, refused.Reason()) {
		t.Errorf("%q: %v", token, err)
	}
}

// A token with one bit, one character or its length changed, or in another spelling, is
// refused, and counts as authentic for no moment.
func TestEveryChangeOfATokenIsRefused(t *testing.T) {
	for _, opts := range everySetting {
		c := newCodec(opts)
		token := must(c.Seal(fullBinding, []byte("twenty bytes of text")))
		for i := range token {
			for _, other := range alphabet + "\n=+/." {
				if token[i] != byte(other) {
					requireTampered(t, c, token[:i]+string(other)+token[i+1:])
				}
			}
			for _, other := range []string{token[:i], token[i+1:], token[:i] + token[i+1:], token[:i] + string([]byte{token[i] ^ 0x80}) + token[i+1:]} {
				requireTampered(t, c, other)
			}
			for _, extra := range []string{"A", "\n", "\r\n", " ", "=", "\x00", ".", token} {
				requireTampered(t, c, token[:i]+extra+token[i:])
				requireTampered(t, c, token+extra)
			}
		}
		for _, other := range []string{strings.NewReplacer("-", "+", "_", "/").Replace(token), strings.ToLower(token), strings.ReplaceAll(token, "A", "%41")} {
			if other != token {
				requireTampered(t, c, other)
			}
		}
	}
}

func TestAnInstanceIsAName(t *testing.T) {
	for _, name := range []string{" ", "a b", "a.b", "http://x", "a/b", "é", "a\n", "a=", strings.Repeat("x", 65)} {
		_, err := statecodec.New(&statecodec.Options{Ephemeral: true, Instance: name})
		requireUsage(t, err, "instance")
		requireUsage(t, statecodec.CheckInstance(name), "instance")
	}
	requireUsage(t, statecodec.CheckInstance(""), "instance")
	require.NoError(t, statecodec.CheckInstance("eu-2"))
}

// FuzzOpen feeds arbitrary text to Open. What opens is the one encoding of its bytes, and an
// instance that is read is one that Options take, where SPEC.md puts it.
func FuzzOpen(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.token)
	}
	for _, opts := range everySetting {
		f.Add(must(newCodec(opts).Seal(fullBinding, []byte("payload"))))
	}
	f.Add(strings.Repeat("A", 71))
	c := newCodec(statecodec.Options{})
	f.Fuzz(func(t *testing.T, token string) {
		named := 0
		name, ok := statecodec.Instance(token)
		if require.Equal(t, ok, name != ""); ok {
			require.NoError(t, statecodec.CheckInstance(name))
			require.True(t, strings.HasPrefix(token[28:], string(alphabet[len(name)-1])+name))
			named = 1 + len(name)
		}
		payload, err := c.Open(fullBinding, token)
		if err != nil {
			requireRefused(t, err.(*statecodec.TokenError).Reason(), err)
			require.Nil(t, payload)
			return
		}
		for _, text := range []string{token[:28], token[28+named : len(token)-22], token[len(token)-22:]} {
			_, ok := specBase64(text)
			require.True(t, ok, "%q", text)
		}
	})
}

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

// Readers of JSON disagree on these, or refuse them.
var refusedArguments = []string{
	` `, `{"a":1,"a":1}`, `{"a":1,"\u0061":2}`, `{"a":1,"b":2,"a":3}`, `[{"x":{"b":1,"a":1,"b":1}}]`,
	// Names that differ in case only: also apart, further in, beside an escape, and a Kelvin
	// sign for a k, a long s for an s, three sigmas.
	`{"amount":1,"Amount":1000}`, `{"Amount":1000,"amount":1}`, `{"AMOUNT":1,"currency":"EUR","amount":1000}`,
	`{"orders":[{"to":{"iban":"a","Iban":"b"}}]}`, `{"a\u0062":1,"A\u0042":2}`, `{"k":1,"\u212a":2}`, `{"ms":1,"m\u017f":2}`,
	`{"é":1,"É":2}`, `{"ς":1,"b":2,"σ":3}`,
	// Not one JSON value.
	`1 2`, `{}{}`, "{}\x00", `[1,]`, `[,1]`, `[1 2]`, `{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`, `{"a" 1}`, `{"a":}`, `{:1}`, `{a:1}`, `{1:1}`,
	`{"a":1`, `[1`, `"a`, `[1}`, `}`, `tru`, `True`, `nullx`, `{}//`, "\ufeff{}",
	// Not a string: bad escapes, control characters, text that is not UTF-8.
	`"\`, `"\u00`, `"\x41"`, `"\u00g0"`, `"\u+041"`, "\"\n\"", "\"\x00\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
	// Half a surrogate pair.
	`"\ud800"`, `"\udc00"`, `"\ude00\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\ud83d"`, `"\ud83d\u0061"`,
	// Not a number, or with an exponent of ten digits, as written or in canonical form.
	`01`, `-01`, `+1`, `-`, `.5`, `1.`, `1e`, `1e+`, `NaN`, `0x10`, `1.2.3`,
	`1e1000000000`, `0e1000000000`, `1e-1000000000`, `10e999999999`, `0.1e-999999999`, `1e99999999999999999999`,
	// Too deep.
	strings.Repeat("[", 129) + strings.Repeat("]", 129), strings.Repeat(`{"a":`, 129) + `1` + strings.Repeat("}", 129), strings.Repeat("[", 100000),
}

// FuzzArguments compares the canonical form with that of vectors_test.go, which derives
// it in another way: both refuse the same arguments and agree on all others. A refusal is
// the same from CheckArguments, from Seal and from Open.
func FuzzArguments(f *testing.F) {
	for _, group := range sameArguments {
		for _, spelling := range group {
			f.Add([]byte(spelling))
		}
	}
	for _, refused := range refusedArguments {
		f.Add([]byte(refused))
	}
	c := newCodec(statecodec.Options{Readable: true, MaxToken: statecodec.MaxMaxToken})
	empty := must(c.Seal(statecodec.Binding{}, nil))
	keys := specDerive(bytes.Repeat([]byte{1, 0xfe}, 16), "", 0, "", "")
	f.Fuzz(func(t *testing.T, arguments []byte) {
		binding := statecodec.Binding{Arguments: arguments}
		token, err := c.Seal(binding, nil)
		require.Equal(t, err, statecodec.CheckArguments(arguments))
		_, opens := c.Open(binding, empty)
		canonical, none := []byte("{}"), error(nil)
		if len(arguments) > 0 {
			canonical, none = specCanonical(arguments)
		}
		switch {
		case none != nil:
			requireUsage(t, err, "arguments")
			require.ErrorIs(t, err, statecodec.ErrArguments)
			requireRefused(t, statecodec.ReasonArguments, opens)
			return
		case string(canonical) == "{}":
			require.NoError(t, opens)
		default:
			requireRefused(t, statecodec.ReasonForged, opens)
		}
		require.NoError(t, err)
		_, err = c.Open(statecodec.Binding{Arguments: canonical}, token)
		require.NoError(t, err, "sealed %q, and its canonical form is %q", arguments, canonical)
		message := specMessage(binding, canonical, token[:len(token)-22])
		require.Equal(t, base64.RawURLEncoding.EncodeToString(specHMAC(keys.mac, message)[:16]), token[len(token)-22:])
	})
}

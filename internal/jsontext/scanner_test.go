package jsontext_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

var scanned = []struct {
	explanation string
	text        string
	ok          bool
}{
	{"every kind of value", `{"a":[1,-2.50,0,true,false,null,"x",[],{}],"b":{"c":{"d":"e"}}}`, true},
	{"white space", " \t\r\n{ \"a\" : [ 1 , 2 ] } \n", true},
	{"all escapes", `"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, true},
	{"text beyond ASCII", `["é", "` + "\u2028" + `"]`, true},
	{"as deep as it reads", strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100), true},
	{"one deeper", strings.Repeat(`[`, 101) + strings.Repeat(`]`, 101), false},
	{"one object deeper", strings.Repeat(`{"a":`, 101) + `1` + strings.Repeat(`}`, 101), false},
	{"as many digits as it reads", strings.Repeat(`9`, 100), true},
	{"one more", strings.Repeat(`9`, 101), false},
	{"an exponent", `1e2`, false},
	{"an escape in a name", `{"\u0061":1}`, false},
	{"a name beyond ASCII", `{"é":1}`, false},
	{"nothing", ``, false},
	{"an open object", `{`, false},
	{"an open list", `[1`, false},
	{"an open text", `"a`, false},
	{"an open escape", `"\`, false},
	{"half an escape", `"\u00e`, false},
	{"no escape", `"\x"`, false},
	{"no hexadecimal", `"\u00g0"`, false},
	{"a control character", "\"\n\"", false},
	{"a comma too many", `[1,]`, false},
	{"a comma before", `{,"a":1}`, false},
	{"no colon", `{"a" 1}`, false},
	{"no value", `{"a":}`, false},
	{"a name that is none", `{1:2}`, false},
	{"half a word", `tru`, false},
	{"a zero too many", `01`, false},
	{"no digit", `-`, false},
	{"no digit behind the point", `1.`, false},
	{"a plus", `+1`, false},
	{"something behind it", `{} {}`, false},
	{"a zero byte behind it", "{}\x00", false},
}

func TestScanner(t *testing.T) {
	for _, c := range scanned {
		s := jsontext.Scan([]byte(c.text))
		require.Equal(t, c.ok, s.Value() && s.End(), c.explanation)
	}
}

func TestScannerGivesMembers(t *testing.T) {
	s := jsontext.Scan([]byte(` {"a": [1, 2] ,"b":"yes","c":"no"}`))
	var raw []byte
	is := map[string]bool{}
	require.True(t, s.Object(func(name []byte) (ok bool) {
		if string(name) == "a" {
			raw, ok = s.Raw(s.Value)
			return ok
		}
		is[string(name)] = s.Is("yes")
		return true
	}))
	require.True(t, s.End())
	require.Equal(t, "[1, 2]", string(raw))
	require.Equal(t, map[string]bool{"b": true, "c": false}, is)
}

func TestSingleNames(t *testing.T) {
	object := func(names int) string {
		members := make([]string, names)
		for i := range members {
			members[i] = fmt.Sprintf(`"name%d":0`, i)
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	for _, c := range []struct {
		explanation, text string
		ok                bool
	}{
		{"no object", `[1,"a",null]`, true},
		{"one name in several objects", `{"a":{"a":[{"a":1},{"a":2}]}}`, true},
		{"a name twice", `{"a":1,"b":2,"a":3}`, false},
		{"a name twice further down", `[{"b":{"a":[{"c":1,"c":2}]}}]`, false},
		{"as many names as are compared", object(16), true},
		{"one more", object(17), false},
		{"no JSON", `{"a":}`, false},
	} {
		s := jsontext.Scan([]byte(c.text))
		require.Equal(t, c.ok, s.Single() && s.End(), c.explanation)
	}
}

// A Scanner takes nothing that encoding/json would not.
func FuzzScanner(f *testing.F) {
	for _, c := range scanned {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := jsontext.Scan(text)
		if s.Value() && s.End() {
			require.True(t, json.Valid(text))
			var v any
			require.NoError(t, json.Unmarshal(text, &v))
		}
		if s := jsontext.Scan(text); s.Single() && s.End() {
			require.True(t, json.Valid(text))
		}
	})
}

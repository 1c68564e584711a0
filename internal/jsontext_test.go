package internal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

var walked = []string{
	`{"a":[1,-2.50,0,true,false,null,"x",[],{}],"b":{"c":{"d":"e"}}}`,
	" \t\r\n{ \"a\" : [ 1 , 2 ] } \n",
	`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`,
	`["é", "` + "\u2028\xff" + `"]`,
	`[1e2,1E+2,-0.5e-10,0e0]`, `[1e999]`, `-0`,
	`{"\u0061":1,"é":2,"a":3,"` + "\xff" + `":4}`,
	``, ` `, `{`, `[1`, `"a`, `"\`, `"\u00e`, `"\x"`, `"\u00g0"`, "\"\n\"", `[1,]`, `{,"a":1}`, `{"a" 1}`,
	`{"a":}`, `{1:2}`, `{"a":1,}`, `[,]`, `[1 2]`, `[1}`, `{"a":1]`, `tru`, `nulls`, `01`, `-`, `1.`, `.5`, `+1`, `1e`, `1e+`, `--1`,
	`{} {}`, "{}\x00", `]`, `,`,
	strings.Repeat(`[`, 60) + strings.Repeat(`]`, 60),
}

// A Walker reads what encoding/json reads, by every one of its ways.
func TestWalkerAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range walked {
		agree(t, []byte(text))
	}
}

func FuzzWalker(f *testing.F) {
	for _, text := range walked {
		f.Add([]byte(text))
	}
	f.Fuzz(agree)
}

func agree(t *testing.T, text []byte) {
	valid := json.Valid(text)
	w := jsontext.Walk(text, jsontext.MaxDepth)
	raw := w.Value()
	require.Equal(t, valid, w.End(), "%q", text)
	if valid {
		require.Equal(t, strings.Trim(string(text), " \t\r\n"), string(raw))
	}
	w = jsontext.Walk(text, jsontext.MaxDepth)
	decoded := w.Decode()
	decodes := w.End()
	w = jsontext.Walk(text, jsontext.MaxDepth)
	if _, found := w.Repeated(); !found {
		require.Equal(t, valid, w.End(), "%q", text)
	} else {
		require.False(t, w.End())
	}
	var want any
	err := json.Unmarshal(text, &want) // which refuses a number beyond every float64 too
	require.Equal(t, err == nil, decodes, "%q", text)
	if decodes {
		require.Equal(t, want, decoded, "%q", text)
	}
}

func TestWalkerSkipsUnreadValues(t *testing.T) {
	w := jsontext.Walk([]byte(` {"skipped":{"a":[1]},"list":[ {"b":2} ,"x",[3]],"twice":1,"twice":"last"}`), 10)
	var names, raw []string
	for name := range w.Members {
		names = append(names, string(name))
		switch string(name) {
		case "list":
			for i := range w.Elements {
				if require.Less(t, i, 3); i != 1 {
					raw = append(raw, string(w.Value()))
				}
			}
		case "twice":
			require.Equal(t, w.Kind(), w.Value()[0])
		}
	}
	require.True(t, w.End())
	require.Equal(t, []string{"skipped", "list", "twice", "twice"}, names)
	require.Equal(t, []string{`{"b":2}`, `[3]`}, raw)
}

func TestWalkerStopsForGood(t *testing.T) {
	const text = `{"a":1,"b":[2]}`
	for explanation, read := range map[string]func(w *jsontext.Walker){
		"an object read as an array": func(w *jsontext.Walker) { w.Elements(nil) },
		"an object read as a text":   func(w *jsontext.Walker) { require.Nil(t, w.Text()) },
		"a loop left early": func(w *jsontext.Walker) {
			for range w.Members {
				break
			}
		},
		"a loop inside left early": func(w *jsontext.Walker) {
			for name := range w.Members {
				if string(name) == "b" {
					for range w.Elements {
						break
					}
				}
			}
		},
		"a value read twice": func(w *jsontext.Walker) {
			for range w.Members {
				w.Value()
				require.Nil(t, w.Value())
			}
		},
	} {
		w := jsontext.Walk([]byte(text), 10)
		read(w)
		require.False(t, w.End(), explanation)
		require.Zero(t, w.Kind(), explanation)
		require.Nil(t, w.Value(), explanation)
		for range w.Members {
			t.Error(explanation)
		}
	}
}

func TestWalkerIsBoundedByItsDepth(t *testing.T) {
	for _, depth := range []int{0, 1, 5, jsontext.MaxDepth} {
		for _, deeper := range []int{0, 1} {
			levels := depth + deeper
			for _, text := range []string{
				strings.Repeat(`[`, levels) + `1` + strings.Repeat(`]`, levels),
				strings.Repeat(`{"a":`, levels) + `1` + strings.Repeat(`}`, levels),
			} {
				w := jsontext.Walk([]byte(text), depth)
				w.Value()
				require.Equal(t, deeper == 0, w.End(), "%d levels at a depth of %d", levels, depth)
			}
		}
	}
	w := jsontext.Walk([]byte(`[[],[],{"a":[]}]`), 3)
	w.Value()
	require.True(t, w.End(), "values beside each other are not deep")
}

func TestRepeated(t *testing.T) {
	many := func(last string) string {
		var members []string
		for i := range 100 {
			members = append(members, fmt.Sprintf(`"name%d":0`, i))
		}
		return "{" + strings.Join(append(members, `"`+last+`":1`), ",") + "}"
	}
	for _, c := range []struct{ explanation, text, name string }{
		{"no object", `[1,"a",null]`, ""},
		{"one name in several objects", `{"a":{"a":[{"a":1},{"a":2}]}}`, ""},
		{"a name twice", `{"a":1,"b":2,"a":3}`, "a"},
		{"a name twice, spelled differently", `{"a":1,"\u0061":3}`, "a"},
		{"a name twice further down", `[{"b":{"a":[{"c":1,"c":2}]}}]`, "c"},
		{"many names", many("another"), ""},
		{"many names, and one of the last twice", many("name99"), "name99"},
		{"many names, and the first twice", many("name0"), "name0"},
	} {
		name, found := jsontext.Walk([]byte(c.text), 10).Repeated()
		require.Equal(t, c.name, string(name), c.explanation)
		require.Equal(t, c.name != "", found, c.explanation)
	}
}

func TestWalkingAllocatesNothing(t *testing.T) {
	text := []byte(`{"jsonrpc":"2.0","id":1,"params":{"name":"forecast","list":[1,2,{"a":"é"}]}}`)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		w := jsontext.Walk(text, 100)
		for name := range w.Members {
			if string(name) == "params" {
				for range w.Members {
					w.Repeated()
				}
			}
		}
		if !w.End() {
			t.Error("not read to the end")
		}
	}))
}

func TestAPlainWalkerStopsAtTheUnusual(t *testing.T) {
	for _, c := range []struct {
		explanation string
		text        string
		ok          bool
	}{
		{"every kind of value", `{"a":[1,-2.50,0,true,false,null,"x",[],{}],"b":{"c":{"d":"e"}}}`, true},
		{"all escapes", `"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, true},
		{"text beyond ASCII", `["é", "` + "\u2028" + `"]`, true},
		{"as many digits as it reads", strings.Repeat(`9`, 100), true},
		{"one more", strings.Repeat(`9`, 101), false},
		{"an exponent", `1e2`, false},
		{"an escape in a name", `{"\u0061":1}`, false},
		{"a name beyond ASCII", `{"é":1}`, false},
		{"a name with a control character", `{"` + "\x7f" + `":1}`, false},
		{"such a name further down", `[{"a":[{"é":1}]}]`, false},
	} {
		w := jsontext.Walk([]byte(c.text), 100).Plain()
		w.Value()
		require.Equal(t, c.ok, w.End(), c.explanation)
		w = jsontext.Walk([]byte(c.text), jsontext.MaxDepth)
		w.Value()
		require.True(t, w.End(), c.explanation)
	}
}

// Eight bytes are read at a time: each byte is tried at each place among them, beside
// neighbours that a borrow or a carry could reach.
func TestIsPlainTellsEveryByteAtEveryPlace(t *testing.T) {
	for c := range 256 {
		plain := ' ' <= c && c <= '~' && c != '"' && c != '\\'
		for _, neighbour := range []string{"a", " ", "~", "!", "#", "[", "]"} {
			for place := range 17 {
				text := strings.Repeat(neighbour, place) + string([]byte{byte(c)}) + strings.Repeat(neighbour, 17-place)
				require.Equal(t, plain, jsontext.IsPlain(text), "%q at %d", text, place)
				require.Equal(t, plain, jsontext.IsPlain([]byte(text[:place+1])), "%q at its end", text[:place+1])
			}
		}
	}
}

// A string ends at its first quote, wherever that stands among eight bytes, and whatever
// follows.
func TestAStringEndsAtItsFirstQuote(t *testing.T) {
	for length := range 20 {
		for _, after := range []string{"", "\"", "\\", "\x00\xff", `"\"`, "\x7f\x01"} {
			text := `"` + strings.Repeat("a", length) + `"`
			w := jsontext.Walk([]byte(text+","+after+strings.Repeat(" ", 9)), 1)
			require.Equal(t, text, string(w.Value()))
		}
	}
}

func TestIsPlainAllocatesNothing(t *testing.T) {
	text := strings.Repeat("text ", 100)
	require.Zero(t, testing.AllocsPerRun(100, func() { jsontext.IsPlain(text) }))
}

func TestTextThatIsNotUTF8IsReplaced(t *testing.T) {
	for _, broken := range []string{"\xff", "a\xc3", "\xed\xa0\x80", "ok\x80ok"} {
		var ours, theirs string
		require.NoError(t, json.Unmarshal(jsontext.AppendString(nil, broken), &ours))
		encoded, err := json.Marshal(broken)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(encoded, &theirs))
		require.Equal(t, theirs, ours)
	}
}

func TestReaderTakesOneSpelling(t *testing.T) {
	const good = `{"v":1,"text":"a","list":[{"first":"b","raw":{"x":[1,"]"]}}]}`
	read := func(text string) bool {
		r, v := jsontext.Open([]byte(text), "v")
		r.Text("text")
		if r.List("list") {
			for i := 0; r.Object(i); i++ {
				r.First("first")
				r.Raw("raw")
				r.EndObject()
			}
		}
		return r.End() && v == 1
	}
	require.True(t, read(good))
	for explanation, text := range map[string]string{
		"nothing":                    ``,
		"something behind it":        good + " ",
		"cut":                        good[:len(good)-1],
		"white space":                strings.Replace(good, `,"text"`, `, "text"`, 1),
		"another first member":       strings.Replace(good, `"v"`, `"w"`, 1),
		"a number written otherwise": strings.Replace(good, `1`, `01`, 1),
		"an escape not needed":       strings.Replace(good, `"a"`, `"\u0061"`, 1),
		"an empty text":              strings.Replace(good, `"a"`, `""`, 1),
		"an empty list":              `{"v":1,"text":"a","list":[]}`,
		"an unknown member":          `{"v":1,"text":"a","more":1}`,
		"members in another order":   `{"v":1,"list":[{"first":"b"}],"text":"a"}`,
		"a comma too many":           strings.Replace(good, `[{`, `[,{`, 1),
		"a value without an end":     `{"v":1,"list":[{"first":"b","raw":{`,
	} {
		require.False(t, read(text), explanation)
	}
}

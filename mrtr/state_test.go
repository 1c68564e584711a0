package mrtr

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// awkward are texts that an encoding gets wrong.
var awkward = []string{
	"", "plain", `"`, `\`, `\"`, "\\u0041", "\x00\x1f\x7f", "line\nbreak\ttab\r", "ü", "\u2028\u2029", "\U0001f600", "<script>&", `{"v":1}`, `"},{"`, "\ufffd",
	strings.Repeat("long ", 1000),
}

func randomState(r *rand.Rand) state {
	text := func() string { return awkward[r.IntN(len(awkward))] }
	value := func() json.RawMessage {
		switch r.IntN(5) {
		case 0:
			return nil
		case 1:
			return null
		case 2:
			return json.RawMessage(fmt.Sprint(r.IntN(1000) - 500))
		case 3:
			v, _ := json.Marshal(text())
			return v
		}
		v, _ := json.Marshal(map[string]any{text(): []any{text(), r.Float64(), map[string]any{text(): nil, text(): true}}})
		return v
	}
	st := state{
		id: "call" + text(), round: 1 + r.IntN(9), asked: r.IntN(9), carried: r.IntN(3),
		version: text(), steps: text(), frame: text(), author: value(),
	}
	for range r.IntN(4) {
		kinds := []entryKind{answerEntry, effectEntry, nestedEntry, knownEntry, skippedEntry}
		st.done = append(st.done, entry{kind: kinds[r.IntN(len(kinds))], key: text(), digest: text(), value: value()})
	}
	for range r.IntN(4) {
		kinds := []kind{formKind, urlKind, sampleKind, toolsKind, rootsKind}
		st.pending = append(st.pending, pending{
			spec:  spec{kind: kinds[r.IntN(len(kinds))], key: text(), message: text(), url: text(), schema: value(), lenient: r.IntN(2) == 0, typ: text()},
			tries: r.IntN(4), note: text(), answer: value(),
		})
	}
	return st
}

func TestStatesComeBackAsTheyWere(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, seed))
	for range 2000 {
		st := randomState(r)
		encoded := st.appendTo(nil)
		require.True(t, json.Valid(encoded), "seed %d: %s", seed, encoded)
		back, ok := decodeState(encoded)
		require.True(t, ok, "seed %d: %s", seed, encoded)
		require.Equal(t, st, back, "seed %d", seed)
	}
}

// Any tool can read a state that is not encrypted.
func TestStatesAreJSON(t *testing.T) {
	for _, text := range awkward {
		st := state{id: "c" + text, round: 2, author: json.RawMessage(`{"a":1}`),
			done:    []entry{{kind: effectEntry, key: "k", value: json.RawMessage(`7`)}},
			pending: []pending{{spec: spec{kind: formKind, key: "q", message: text + "?", schema: json.RawMessage(`{"type":"object"}`)}, tries: 2}}}
		var read struct {
			V      int
			Call   string
			Round  int
			Author map[string]int
			Done   []struct {
				Kind, Key string
				Value     int
			}
			Pending []struct {
				Kind, Key, Message string
				Schema             map[string]string
				Tries              int
			}
		}
		require.NoError(t, json.Unmarshal(st.appendTo(nil), &read))
		require.Equal(t, 1, read.V)
		require.Equal(t, "c"+text, read.Call)
		require.Equal(t, text+"?", read.Pending[0].Message)
		require.Equal(t, 7, read.Done[0].Value)
	}
}

func TestStatesThatAreNotOurs(t *testing.T) {
	good := state{id: "c", round: 1, done: []entry{{kind: answerEntry, key: "k", value: null}}}
	encoded := string(good.appendTo(nil))
	_, ok := decodeState([]byte(encoded))
	require.True(t, ok)
	for explanation, s := range map[string]string{
		"nothing":                    ``,
		"not JSON":                   `state`,
		"another format":             strings.Replace(encoded, `"v":1`, `"v":2`, 1),
		"no format":                  strings.Replace(encoded, `"v":1,`, ``, 1),
		"something behind it":        encoded + " ",
		"cut":                        encoded[:len(encoded)-1],
		"no call":                    `{"v":1,"round":1}`,
		"no round":                   `{"v":1,"call":"c"}`,
		"a round of nothing":         `{"v":1,"call":"c","round":0}`,
		"a negative round":           `{"v":1,"call":"c","round":-1}`,
		"a number written otherwise": `{"v":1,"call":"c","round":01}`,
		"a number too large":         `{"v":1,"call":"c","round":99999999999999999999}`,
		"members in another order":   `{"v":1,"round":1,"call":"c"}`,
		"an empty member":            `{"v":1,"call":"c","round":1,"frame":""}`,
		"an empty list":              `{"v":1,"call":"c","round":1,"done":[]}`,
		"an escape we do not write":  `{"v":1,"call":"\u0063","round":1}`,
		"a member nobody knows":      `{"v":1,"call":"c","round":1,"more":1}`,
		"a comma too many":           strings.Replace(encoded, `[{`, `[,{`, 1),
	} {
		_, ok := decodeState([]byte(s))
		require.False(t, ok, explanation)
	}
}

func FuzzDecodeState(f *testing.F) {
	f.Add([]byte(`{"v":1,"call":"c","round":1}`))
	f.Add([]byte(`{"v":1,"call":"c","round":1,"author":{"a":[1,"]}"]},"done":[{"kind":"answer","key":"k","value":null}]}`))
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		st := randomState(r)
		f.Add(st.appendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		st, ok := decodeState(b)
		if !ok {
			return
		}
		if again := st.appendTo(nil); string(again) != string(b) {
			t.Errorf("read as another state\n%s\n%s", b, again)
		}
	})
}

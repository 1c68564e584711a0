package mrtr

import (
	cryptorand "crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// awkward are texts that an encoding gets wrong.
var awkward = []string{
	"", "plain", `"`, `\`, `\"`, "\\u0041", "\x00\x1f\x7f", "line\nbreak\ttab\r", "ü", "\u2028\u2029", "\U0001f600", "<script>&", `{"v":1}`, `"},{"`, "\ufffd",
	strings.Repeat("long ", 1000),
}

// identifier is of any length, in hexadecimal, in base64url or otherwise.
func identifier(r *rand.Rand) string {
	b := make([]byte, r.IntN(20))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	switch r.IntN(4) {
	case 0:
		return hex.EncodeToString(b)
	case 1:
		return base64.RawURLEncoding.EncodeToString(b)
	case 2:
		return cryptorand.Text()
	}
	return awkward[r.IntN(len(awkward))]
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
		version: text(), steps: text(), frame: identifier(r), author: value(),
		journal: r.IntN(2) == 0, stops: r.IntN(2) == 0,
	}
	if r.IntN(2) == 0 {
		st.turns = &turns{identifier(r) + "E", r.IntN(4), r.Int64N(1 << 42)}
	}
	for range r.IntN(4) {
		kinds := []entryKind{answerEntry, effectEntry, nestedEntry, knownEntry, skippedEntry}
		st.done = append(st.done, entry{kind: kinds[r.IntN(len(kinds))], key: text(), digest: identifier(r), value: value(), unknown: r.IntN(2) == 0})
	}
	for range r.IntN(4) {
		kinds := []kind{formKind, urlKind, sampleKind, toolsKind, rootsKind}
		st.pending = append(st.pending, pending{
			spec:  &spec{kind: kinds[r.IntN(len(kinds))], key: text(), message: text(), url: text(), schema: value(), lenient: r.IntN(2) == 0, tells: r.IntN(2) == 0, typ: identifier(r)},
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
		legible := st.appendLegible(nil)
		require.True(t, json.Valid(legible), "seed %d: %s", seed, legible)
		for _, encoded := range [][]byte{legible, st.appendTo(nil)} {
			back, ok := decodeState(encoded)
			require.True(t, ok, "seed %d: %q", seed, encoded)
			require.Equal(t, st, back, "seed %d", seed)
		}
	}
}

// Any tool can read a state that is not encrypted.
func TestLegibleStatesAreJSON(t *testing.T) {
	for _, text := range awkward {
		st := state{id: "c" + text, round: 2, author: json.RawMessage(`{"a":1}`),
			done:    []entry{{kind: effectEntry, key: "k", value: json.RawMessage(`7`)}},
			pending: []pending{{spec: &spec{kind: formKind, key: "q", message: text + "?", schema: json.RawMessage(`{"type":"object"}`)}, tries: 2}}}
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
		require.NoError(t, json.Unmarshal(st.appendLegible(nil), &read))
		require.Equal(t, 1, read.V)
		require.Equal(t, "c"+text, read.Call)
		require.Equal(t, text+"?", read.Pending[0].Message)
		require.Equal(t, 7, read.Done[0].Value)
	}
}

func TestStatesThatAreNotOurs(t *testing.T) {
	good := state{id: "c", round: 1, done: []entry{{kind: answerEntry, key: "k", value: null}}}
	encoded := string(good.appendLegible(nil))
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

// A compact state that was cut or that has something behind it, and one that changed
// in a bit, either does not fit or is read as a state that has its own bytes.
func TestCompactStatesThatAreNotOurs(t *testing.T) {
	good := state{id: "00ff", round: 1, asked: 1, author: json.RawMessage(`{"a":"b"}`), turns: &turns{"e", 1, 1},
		done:    []entry{{kind: answerEntry, key: "k", digest: "abcd", value: null}},
		pending: []pending{{spec: &spec{kind: formKind, key: "units", message: "Which\tunits?", schema: Choose("units", "?", Choices("a", "b")...).spec.schema}}}}
	encoded := good.appendTo(nil)
	for cut := range encoded {
		_, ok := decodeState(encoded[:cut])
		require.False(t, ok, "cut at %d", cut)
	}
	_, ok := decodeState(append(slices.Clip(encoded), 0))
	require.False(t, ok)
	refused := 0
	for bit := range 8 * len(encoded) {
		changed := slices.Clone(encoded)
		changed[bit/8] ^= 1 << (bit % 8)
		st, ok := decodeState(changed)
		if !ok {
			refused++
			continue
		}
		require.NotEqual(t, good, st, "bit %d", bit)
	}
	require.NotZero(t, refused)
	for explanation, s := range map[string]string{
		"format 3":                     "\x03" + string(encoded[1:]),
		"no call":                      "\x02\x02\x00\x01",
		"no round":                     "\x02\x01\x00\x04c",
		"a number not at its shortest": "\x02\x03\x00\x04c\x81\x00",
		"a number that is left out":    "\x02\x03\x00\x04c\x00",
		"a field nobody knows":         "\x02\x03\x80\x04c\x01",
		"a text that is left out":      "\x02\x03\x04\x04c\x01\x00",
		"a list of nothing":            "\x02\x03\x08\x04c\x01\x00",
		"a list of too many":           "\x02\x03\x08\x04c\x01\xff\x7f",
	} {
		_, ok := decodeState([]byte(s))
		require.False(t, ok, explanation)
	}
	_, ok = decodeState([]byte("\x02\x03\x00\x04c\x01"))
	require.True(t, ok, "the smallest state")
}

// The state of one question is short: each character costs both ends about 500
// instructions in a round.
func TestStatesAreShort(t *testing.T) {
	st := newState(newID(), "0f1e2d3c4b5a")
	q := Choose("units", "Which units?", Choices("metric", "imperial")...)
	st.open([]*spec{q.spec})
	st.countRound(true)
	require.LessOrEqual(t, len(st.appendTo(nil)), 80)
	st.rememberIn(cryptorand.Text())
	st.nextTurn(time.Now())
	require.LessOrEqual(t, len(st.appendTo(nil)), 110, "with a store")
}

// A state is the same to its reader, and to its writer, whether or not they know the
// schema of its question.
func TestStatesOfKnownSchemas(t *testing.T) {
	q := Choose("known", "Which?", Choices("a known schema", "b")...)
	var st state
	encode := func() []byte {
		st = newState("c", "v")
		st.open([]*spec{q.spec})
		return st.appendTo(nil)
	}
	first := encode()
	require.NotNil(t, q.spec.form.Short("known"))
	require.Equal(t, first, encode())
	unknown, ok := decodeState(first)
	require.True(t, ok)
	require.Equal(t, string(q.spec.schema), string(unknown.pending[0].schema))
	require.NotSame(t, &q.spec.schema[0], &unknown.pending[0].schema[0])
	st.keepForms()
	known, ok := decodeState(first)
	require.True(t, ok)
	require.Equal(t, unknown, known)
	require.Same(t, &q.spec.schema[0], &known.pending[0].schema[0], "it is shared")
}

func FuzzDecodeState(f *testing.F) {
	f.Add([]byte(`{"v":1,"call":"c","round":1}`))
	f.Add([]byte(`{"v":1,"call":"c","round":1,"author":{"a":[1,"]}"]},"done":[{"kind":"answer","key":"k","value":null}]}`))
	f.Add([]byte("\x02\x03\x00\x04c\x01"))
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		st := randomState(r)
		f.Add(st.appendLegible(nil))
		f.Add(st.appendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		st, ok := decodeState(b)
		if !ok {
			return
		}
		if b[0] == '{' {
			require.Equal(t, string(b), string(st.appendLegible(nil)), "read as another state")
			if !utf8.Valid(b) {
				return
			}
		}
		// Format 2 can spell a text in more than one way, and writes the shortest.
		back, ok := decodeState(st.appendTo(nil))
		require.True(t, ok)
		require.Equal(t, st, back)
	})
}

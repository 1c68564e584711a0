package mrtr

import (
	cryptorand "crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
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
		id: "call" + text(), round: 1 + r.IntN(9), asked: r.Int32N(9), carried: r.Int32N(3),
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
			tries: int32(r.IntN(4)), note: text(), answer: value(),
		})
		if p := &st.pending[len(st.pending)-1]; r.IntN(3) == 0 {
			p.lapses, p.absence = 1+r.Int64N(1<<42), &absence{answer: value()}
		}
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
		clear(encoded)
		require.Equal(t, st, back, "seed %d", seed)
	}
}

// Any tool can read a state that is not encrypted.
func TestStatesAreJSON(t *testing.T) {
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
				Key, Text string
				Form      map[string]string
				Tries     int
			}
		}
		require.NoError(t, json.Unmarshal(st.appendTo(nil), &read))
		require.Equal(t, stateFormat, read.V)
		require.Equal(t, "c"+text, read.Call)
		require.Equal(t, text+"?", read.Pending[0].Text)
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
		"another format":             strings.Replace(encoded, `"v":3`, `"v":2`, 1),
		"no format":                  strings.Replace(encoded, `"v":3,`, ``, 1),
		"something behind it":        encoded + " ",
		"cut":                        encoded[:len(encoded)-1],
		"no call":                    `{"v":3,"round":1}`,
		"no round":                   `{"v":3,"call":"c"}`,
		"a round of nothing":         `{"v":3,"call":"c","round":0}`,
		"a negative round":           `{"v":3,"call":"c","round":-1}`,
		"a number written otherwise": `{"v":3,"call":"c","round":01}`,
		"a number too large":         `{"v":3,"call":"c","round":99999999999999999999}`,
		"members in another order":   `{"v":3,"round":1,"call":"c"}`,
		"an empty member":            `{"v":3,"call":"c","round":1,"frame":""}`,
		"an empty list":              `{"v":3,"call":"c","round":1,"done":[]}`,
		"an escape we do not write":  `{"v":3,"call":"\u0063","round":1}`,
		"a kind that is left out":    strings.Replace(encoded, `"key":"k"`, `"key":"k","kind":""`, 1),
		"a member nobody knows":      `{"v":3,"call":"c","round":1,"more":1}`,
		"a comma too many":           strings.Replace(encoded, `[{`, `[,{`, 1),
	} {
		_, ok := decodeState([]byte(s))
		require.False(t, ok, explanation)
	}
}

// The sealed state of one question is short: the weather's, from a release build.
func TestStatesAreShort(t *testing.T) {
	rt, err := New(nil)
	require.NoError(t, err)
	c := &Call{ledger: &ledger{rt: rt, target: &target{version: "0f1e2d3c4b5a"}}}
	c.st = newState(newID(), "0f1e2d3c4b5a")
	c.st.open([]*spec{Choose("units", "Which units?", Choices("metric", "imperial")...).spec})
	c.st.countRound(true)
	token, err := c.seal()
	require.NoError(t, err)
	require.LessOrEqual(t, len(token), 420)
	c.st.rememberIn(cryptorand.Text()[:13])
	c.st.nextTurn(time.Now())
	token, err = c.seal()
	require.NoError(t, err)
	require.LessOrEqual(t, len(token), 490, "with a store")
}

// A question that this process has asked comes back with its form.
func TestQuestionsComeBackWithTheirForms(t *testing.T) {
	q := Choose("known", "Which?", Choices(cryptorand.Text(), "b")...) // a schema that no run before has kept
	st := newState("c", "v")
	st.open([]*spec{q.spec})
	encoded := st.appendTo(nil)
	unknown, ok := decodeState(encoded)
	require.True(t, ok)
	require.Nil(t, unknown.pending[0].form)
	require.Equal(t, string(q.spec.schema), string(unknown.pending[0].schema))
	require.NotSame(t, &q.spec.schema[0], &unknown.pending[0].schema[0])
	st.keepForms()
	known, ok := decodeState(encoded)
	require.True(t, ok)
	require.Same(t, q.spec.form, known.pending[0].form)
	require.Same(t, &q.spec.schema[0], &known.pending[0].schema[0], "it is shared")
}

// hostile are texts that once broke an encoding, or may.
var hostile = append([]string{
	"Send this?\n{\"amount\": 5}", "\n\"}", "\r\n{\"", "}]\x00[{", "\xff", "\xed\xa0\x80", `\ud800`, "<b>&amp;</b>", "a\x1fb\x7f\u0085",
}, awkward...)

// FuzzHostileTexts carries a whole state, with one text everywhere, through seal and open.
// It comes back as it was, or the question with the text was refused where it was made.
func FuzzHostileTexts(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, uint(1))
	}
	f.Add("Send this?\n{\"amount\": 5}", uint(1<<16/26)) // states of megabytes
	rt, err := New(&Options{Limits: Limits{MaxStateBytes: 8 << 20}, State: &statecodec.Options{MaxToken: statecodec.MaxMaxToken}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string, times uint) {
		if len(text) > 0 {
			text = strings.Repeat(text, 1+int(times%uint(1+1<<16/len(text))))
		}
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		c := &Call{ledger: &ledger{rt: rt, target: &target{version: "v"}}}
		c.st = newState("c", "v")
		c.st.carry(quoted)
		var specs []*spec
		for _, q := range []AnyQuestion{
			Elicit[string]("message", text), Confirm("confirm", text).Verbatim(), Choose("choice", "?", Choice{Value: text, Title: text}).Verbatim(),
			Elicit[string]("prefilled", "?").Prefill(text), ElicitURL("url", text, "https://example.com/"+text),
			ElicitAs[map[string]any]("schema", "?", json.RawMessage(`{"type":"object","properties":{"x":{"type":"string","title":`+string(quoted)+`}}}`)),
			Sample("sample", &mcp.CreateMessageWithToolsParams{MaxTokens: 1, SystemPrompt: text}),
		} {
			if q.Err() == nil {
				specs = append(specs, q.asking())
			}
		}
		c.st.open(specs)
		for i := range c.st.pending {
			require.NoError(t, c.st.pending[i].again(text))
		}
		for _, kind := range []entryKind{answerEntry, effectEntry, nestedEntry, knownEntry} {
			c.st.record(entry{kind: kind, key: "k", digest: "d", value: quoted})
		}
		c.st.record(entry{kind: failedEntry, key: "k", value: failureOf(errors.New(text)).Encode()})

		token, err := c.seal()
		require.NoError(t, err)
		back, ok, err := c.openState(token)
		require.NoError(t, err)
		require.True(t, ok)
		idem := c.st.done.answersBefore("another", false)
		require.Equal(t, idem, back.done.answersBefore("another", false))
		for i := range specs {
			sent, asked := back.pending[i], c.st.pending[i]
			require.Equal(t, asked.digest(), sent.digest())
			wanted, err := asked.request(asked.note, era.Client{})
			require.NoError(t, err)
			got, err := sent.request(sent.note, era.Client{})
			require.NoError(t, err)
			require.Equal(t, wanted, got)
			own := *asked.spec // the state has nothing of the Go type
			own.form, own.absence, own.written, own.confirms, own.verbatim = nil, nil, nil, false, false
			c.st.pending[i].spec = &own
			back.pending[i].form = nil
		}
		require.Equal(t, c.st, back)
	})
}

func FuzzDecodeState(f *testing.F) {
	f.Add([]byte(`{"v":3,"call":"c","round":1}`))
	f.Add([]byte(`{"v":3,"call":"c","round":1,"author":{"a":[1,"]}"]},"done":[{"key":"k","value":null}]}`))
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		st := randomState(r)
		f.Add(st.appendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if st, ok := decodeState(b); ok {
			require.Equal(t, string(b), string(st.appendTo(nil)), "read as another state")
		}
	})
}

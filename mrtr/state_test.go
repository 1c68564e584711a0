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

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/listen"
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
			return json.RawMessage("null")
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
		id: "call" + text(), round: r.IntN(9), asked: r.IntN(9), version: text(), sealed: text(), style: text(),
		frame: identifier(r), trace: text(),
	}
	if r.IntN(2) == 0 {
		st.mark, st.turn, st.until = identifier(r)+"E", r.IntN(4), r.Int64N(1<<42)
	}
	for range r.IntN(4) {
		kinds := []listen.EntryKind{listen.Answered, listen.Happened, listen.Nested, listen.Failed, listen.Tried, listen.Undone, listen.Stands, listen.Noted}
		e := entry{kind: kinds[r.IntN(len(kinds))], key: text(), value: value(), doubt: r.IntN(2) == 0, free: r.IntN(2) == 0, checks: r.IntN(2) == 0}
		if e.kind == listen.Answered {
			e.words, e.reworded = identifier(r), r.IntN(3)
		}
		st.done = append(st.done, e)
	}
	for range r.IntN(4) {
		kinds := []question.Kind{question.Form, question.URL, question.Sample, question.Tools, question.Roots}
		st.pending = append(st.pending, question.Pending{
			Spec:  &question.Spec{Kind: kinds[r.IntN(len(kinds))], Key: text(), Message: text(), URL: text(), Schema: value(), Lenient: r.IntN(2) == 0, Tells: r.IntN(2) == 0, AnyWords: r.IntN(2) == 0},
			Tries: r.IntN(4), Note: text(), Answer: value(), Reworded: r.IntN(3),
		})
		if p := &st.pending[len(st.pending)-1]; r.IntN(3) == 0 {
			p.Lapses, p.Absence = 1+r.Int64N(1<<42), &question.Absence{Answer: value()}
		}
	}
	return st
}

func TestStatesComeBackAsTheyWere(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, seed))
	for range 500 {
		st := randomState(r)
		encoded := st.appendTo(nil)
		require.True(t, json.Valid(encoded), "seed %d: %s", seed, encoded)
		back, ok := readState(encoded)
		require.True(t, ok, "seed %d: %s", seed, encoded)
		clear(encoded)
		require.Equal(t, st, back, "seed %d", seed)
	}
}

func TestStatesThatAreNotOurs(t *testing.T) {
	good := state{id: "c", round: 1, done: []entry{{kind: listen.Answered, key: "k", value: json.RawMessage("null")}}}
	encoded := string(good.appendTo(nil))
	_, ok := readState([]byte(encoded))
	require.True(t, ok)
	for explanation, s := range map[string]string{
		"nothing":                    ``,
		"not JSON":                   `state`,
		"another format":             strings.Replace(encoded, `"v":4`, `"v":2`, 1),
		"no format":                  strings.Replace(encoded, `"v":4,`, ``, 1),
		"something behind it":        encoded + " ",
		"cut":                        encoded[:len(encoded)-1],
		"no call":                    `{"v":4,"round":1}`,
		"a round of nothing":         `{"v":4,"call":"c","round":0}`,
		"a negative round":           `{"v":4,"call":"c","round":-1}`,
		"a number written otherwise": `{"v":4,"call":"c","round":01}`,
		"a number too large":         `{"v":4,"call":"c","round":99999999999999999999}`,
		"members in another order":   `{"v":4,"round":1,"call":"c"}`,
		"an empty member":            `{"v":4,"call":"c","round":1,"frame":""}`,
		"an empty list":              `{"v":4,"call":"c","round":1,"done":[]}`,
		"an escape we do not write":  `{"v":4,"call":"\u0063","round":1}`,
		"a kind that is left out":    strings.Replace(encoded, `"key":"k"`, `"key":"k","kind":""`, 1),
		"a member nobody knows":      `{"v":4,"call":"c","round":1,"more":1}`,
		"a comma too many":           strings.Replace(encoded, `[{`, `[,{`, 1),
	} {
		_, ok := readState([]byte(s))
		require.False(t, ok, explanation)
	}
}

// The idempotency key of an effect depends on the answers before it, and not on their order.
func TestTheBasisOfAnEffectIsASet(t *testing.T) {
	a, b := entry{kind: listen.Answered, key: "a", words: "w", value: json.RawMessage("1")}, entry{kind: listen.Answered, key: "b", words: "w", value: json.RawMessage("2")}
	tried, other, reworded := entry{kind: listen.Tried, key: "pay"}, b, b
	other.value, reworded.words = json.RawMessage("3"), "v"
	basis := func(h ...entry) string { return string(history(h).appendBasis(nil, "pay", false)) }
	require.Equal(t, basis(a, b), basis(b, a))
	require.Equal(t, basis(a), basis(a, tried, b), "an answer after the first attempt changes nothing")
	require.NotEqual(t, basis(a, b), basis(a, other))
	require.NotEqual(t, basis(a, b), basis(a, reworded))
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
		st := state{id: "c", round: 1, version: text, style: text}
		for _, q := range []AnyQuestion{
			Elicit[string]("message", text), Confirm("confirm", text).Verbatim(), Choose("choice", "?", Choice{Value: text, Title: text}).Verbatim(),
			Elicit[string]("prefilled", "?").Prefill(text), ElicitURL("url", text, "https://example.com/"+text),
			ElicitAs[map[string]any]("schema", "?", json.RawMessage(`{"type":"object","properties":{"x":{"type":"string","title":`+string(quoted)+`}}}`)),
			Sample("sample", &mcp.CreateMessageWithToolsParams{MaxTokens: 1, SystemPrompt: text}),
		} {
			if q.Err() == nil {
				st.pending = append(st.pending, question.Pending{Spec: q.asking()})
			}
		}
		for i := range st.pending {
			require.NoError(t, st.pending[i].Again(text))
		}
		for _, kind := range []listen.EntryKind{listen.Answered, listen.Happened, listen.Nested, listen.Noted} {
			st.done = append(st.done, entry{kind: kind, key: "k", value: quoted})
		}
		st.done = append(st.done, entry{kind: listen.Failed, key: "k", value: failureOf(errors.New(text)).Encode()})
		token, err := rt.codec.Seal(statecodec.Binding{Method: toolsCall}, st.appendTo(nil))
		require.NoError(t, err)
		opened, err := rt.codec.Open(statecodec.Binding{Method: toolsCall}, token)
		require.NoError(t, err)
		back, ok := readState(opened)
		require.True(t, ok)
		require.Equal(t, st.done.appendBasis(nil, "another", false), back.done.appendBasis(nil, "another", false))
		for i := range st.pending {
			sent, asked := back.pending[i], st.pending[i]
			require.Equal(t, asked.Words(), sent.Words())
			wanted, err := question.Requests([]question.Pending{asked}, era.Modern, "")
			require.NoError(t, err)
			got, err := question.Requests([]question.Pending{sent}, era.Modern, "")
			require.NoError(t, err)
			require.Equal(t, wanted, got)
		}
		require.Equal(t, string(st.appendTo(nil)), string(back.appendTo(nil)))
	})
}

func FuzzDecodeState(f *testing.F) {
	f.Add([]byte(`{"v":4,"call":"c","round":1}`))
	f.Add([]byte(`{"v":4,"call":"c","round":1,"done":[{"key":"k","value":{"a":[1,"]}"]}}]}`))
	f.Add([]byte(`{"v":1,"call":"0","round":1,"epoch":"0","until":"00"}`))
	f.Add([]byte(`{"v":1,"call":"0","round":1,"done":[{"kind":""}]}`))
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		st := randomState(r)
		f.Add(st.appendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if st, ok := readState(b); ok {
			require.Equal(t, string(b), string(st.appendTo(nil)), "read as another state")
		}
	})
}

// Answers of earlier rounds can be taken back. The effects of this round stay where they are.
func TestWhatIsTakenBackHidesNoEffect(t *testing.T) {
	rt, err := New(nil)
	require.NoError(t, err)
	defer rt.Close()
	answer := func(key string) entry { return entry{kind: listen.Answered, key: key} }
	l := &ledger{target: &target{rt: rt}, st: state{done: history{answer("size"), {kind: listen.Noted, key: "note"}, answer("colour")}}, base: 3}
	p := new(Pass).begin(l)
	p.Unnote("note")
	require.True(t, p.Forget("size"))
	l.grow(entry{kind: listen.Happened, key: "pay"}, listen.Entry{})
	left := readRemains(l.Left()).done
	require.Len(t, left, 1)
	require.Equal(t, "pay", left[0].key)
}

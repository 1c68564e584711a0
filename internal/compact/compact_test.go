package compact_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/compact"
)

const format = 7

func write(key, text, token string, raw []byte) []byte {
	w := compact.Begin(nil, format, 4)
	w.Key(key)
	w.Text(text)
	w.Raw(raw)
	w.Token(token)
	return w.End()
}

func read(b []byte) (key, text, token string, raw []byte, ok bool) {
	r := compact.Open(b, format, 4)
	key, text, raw, token = r.Key(), r.Text(), r.Raw(), r.Token()
	return key, text, token, raw, r.End()
}

const form = `{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, c := range []struct {
		explanation      string
		key, text, token string
		raw              string
		most             int // bytes, with the two of the format and the bits
	}{
		{"nothing", "", "", "", "", 2},
		{"a key that its form repeats", "units", "", "", form, 2 + 6 + 23},
		{"an answer", "units", "", "", `{"units":"metric"}`, 2 + 6 + 11},
		{"a key within a longer name", "un", "", "", `{"units":"un"}`, 20},
		{"hexadecimal", "", "", "00112233445566778899aabbccddeeff", "", 2 + 1 + 16},
		{"hexadecimal of odd length is of the base64url alphabet", "", "", "abc", "", 6},
		{"upper case", "", "", "ABCDEF", "", 2 + 1 + 5},
		{"base64url", "", "", "q83vEjRWeJ_-", "", 2 + 1 + 9},
		{"neither", "", "", "v1.2.3", "", 2 + 1 + 6},
		{"bytes that stand for pieces", "", "\x00\x01\x02\x03\x1f\x20\x7f\xff", "", "\x00\x01\x02\x03\x1f", 40},
		{"a text without end", "", strings.Repeat("x", 1000), "", "", 1003},
	} {
		b := write(c.key, c.text, c.token, []byte(c.raw))
		require.LessOrEqual(t, len(b), c.most, c.explanation)
		key, text, token, raw, ok := read(b)
		require.True(t, ok, c.explanation)
		require.Equal(t, []string{c.key, c.text, c.token, c.raw}, []string{key, text, token, string(raw)}, c.explanation)
		for cut := range b {
			_, _, _, _, ok := read(b[:cut])
			require.False(t, ok, "%s, cut at %d", c.explanation, cut)
		}
	}
}

// Texts and values stay as they are when the memory that they were read from changes.
func TestReadingSharesNoMemory(t *testing.T) {
	b := write("key", "text", "00ff", []byte(`{"raw":1}`))
	key, text, token, raw, ok := read(b)
	require.True(t, ok)
	clear(b)
	require.Equal(t, []string{"key", "text", "00ff", `{"raw":1}`}, []string{key, text, token, string(raw)})
}

func TestNotWritten(t *testing.T) {
	for explanation, s := range map[string]string{
		"nothing":                    "",
		"another format":             "\x08\x00",
		"more fields than there are": "\x07\x10",
		"something behind it":        "\x07\x00\x00",
		"a text without an end":      "\x07\x02text",
		"an empty text":              "\x07\x02\x00",
		"half a literal":             "\x07\x02\x01\x00",
		"a literal beyond them":      "\x07\x02\x01\x40\x00",
		"a key where there is none":  "\x07\x04\x02\x00",
		"a key within a text":        "\x07\x03k\x00\x02\x00",
		"an empty token":             "\x07\x08\x00",
		"a token cut short":          "\x07\x08\x10abc",
		"a token of no spelling":     "\x07\x08\x0fabc",
		"hexadecimal cut short":      "\x07\x08\x0d\xab\xcd",
		"bits behind six-bit text":   "\x07\x08\x06\x01",
		"a token of any length":      "\x07\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		_, _, _, _, ok := read([]byte(s))
		require.False(t, ok, explanation)
	}
}

// Reading survives any bytes, and those it accepts are written and read again as the same.
func FuzzRead(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		raw, _ := json.Marshal(map[string]any{"units": r.IntN(9), "other": []string{"a", "b"}})
		f.Add(write("units", "Which?", "00ff", raw))
	}
	f.Add(write("units", "\x00\x1f", "q83v", []byte(form)))
	f.Add([]byte("\x07\x08\x06\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		key, text, token, raw, ok := read(b)
		if !ok {
			return
		}
		// There is more than one way to write a text. The Writer's is read as the same,
		// and is not longer.
		again := write(key, text, token, raw)
		key2, text2, token2, raw2, ok := read(again)
		require.True(t, ok)
		require.Equal(t, []string{key, text, token}, []string{key2, text2, token2})
		require.True(t, bytes.Equal(raw, raw2))
	})
}

// FuzzText writes any text.
func FuzzText(f *testing.F) {
	f.Add("units", form)
	f.Add("k", "\x00\x01\x02\x1f \x7f\xff")
	f.Fuzz(func(t *testing.T, key, text string) {
		gotKey, gotText, gotToken, gotRaw, ok := read(write(key, text, text, []byte(text)))
		require.True(t, ok)
		require.Equal(t, []string{key, text, text, text}, []string{gotKey, gotText, gotToken, string(gotRaw)})
	})
}

package internal_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

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

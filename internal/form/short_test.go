package form

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A kept form is found by its short text, for its own key alone, until the collection
// starts afresh; and whoever keeps it again is found again.
func TestSchemasAreFoundByTheirShortText(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"short":{"type":"boolean"}},"required":["short"]}`)
	f, err := Of(schema)
	require.NoError(t, err)
	text := []byte("a short text")
	f.NoteShort("short", text)
	text[0] = 'A'
	f.NoteShort("other", []byte("another"))
	require.Equal(t, "a short text", string(f.Short("short")))
	require.Nil(t, f.Short("other"))
	require.Nil(t, Long("short", f.Short("short")), "it was not kept")

	for range 2 {
		Keep(schema, f)
		require.Equal(t, string(schema), string(Long("short", []byte("a short text"))))
		require.Nil(t, Long("other", []byte("a short text")))
		require.Nil(t, Long("short", text))
		fillKept(t)
		require.Nil(t, Long("short", []byte("a short text")), "the collection started afresh")
	}
}

// A form is found by its short text also where it was kept without one, or by another
// form of its schema.
func TestShortTextsThatComeLater(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"later":{"type":"boolean"}},"required":["later"]}`)
	first, err := read(schema)
	require.NoError(t, err)
	Keep(schema, first)
	require.Nil(t, Long("later", []byte("later")))
	second, err := read(schema)
	require.NoError(t, err)
	second.NoteShort("later", []byte("later"))
	Keep(schema, second)
	require.Equal(t, string(schema), string(Long("later", []byte("later"))))
}

func fillKept(t *testing.T) {
	before := kept.generation.Load()
	for i := 0; kept.generation.Load() == before; i++ {
		schema := json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"p%d":{"type":"string","description":%q}}}`, i, fmt.Sprintf("%*d", 40_000, i)))
		f, err := read(schema)
		require.NoError(t, err)
		Keep(schema, f)
	}
}

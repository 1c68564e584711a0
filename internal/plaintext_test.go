package internal_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/plaintext"
)

func TestTextThatHasNothingToHideIsFree(t *testing.T) {
	for _, text := range []string{
		"", "Which units?\n\n\t- metric", "Größe? 数量は?", "مرحبا \u200fabc\u200e", "שלום", "می\u200cخواهم",
		"👩\u200d👩\u200d👧 🏴\U000e0067\U000e0062\U000e007f", "a\u00a0b\u2028c", "x\ufffdy", `\u202e`,
	} {
		require.Equal(t, text, plaintext.Text(text))
		require.Zero(t, testing.AllocsPerRun(10, func() { plaintext.Text(text) }), "%q", text)
	}
}

func TestQuote(t *testing.T) {
	const most = 10
	for text, want := range map[string]string{
		"":                         `""`,
		"Lisbon":                   `"Lisbon"`,
		"عمّان":                    `"عمّان"`,
		`a" OK? "`:                 `"a\" OK? \""`,
		`end\`:                     `"end\\"`,
		"0123456789":               `"0123456789"`,
		"0123456789a":              `"0123456789"…`,
		"012345678\n":              `"012345678"…`, // half of an escape would be another one
		"a\u200bb":                 `"a\u200bb"`,
		"a\nb":                     `"a\u000ab"`,
		"\u3164x":                  `"\u3164x"`,
		"\u0301":                   `"\u0301"`, // it would stand on the quote
		"e\u0301x":                 "\"e\u0301x\"",
		"\U000e0041":               `"\U000e0041"`,
		"a" + marks(4):             `"a` + marks(4) + `"`,
		"a" + marks(5):             `"a` + marks(4) + `"…`,
		"a\u2800b":                 `"a\u2800b"`, // a blank of Braille
		"a  b":                     `"a \u0020b"`,
		"a \u3000b":                "\"a \\u3000b\"",
		"a\u00a0b":                 `"a\u00a0b"`,
		"a\ufe0fb":                 `"a\ufe0fb"`, // it selects a variant of the letter
		`\u202e`:                   `"\\u202e"`,  // typed, it is another text than the character
		"日本\u3000国":                "\"日本\u3000国\"",
		strings.Repeat("A", 1<<20): `"AAAAAAAAAA"…`,
	} {
		require.Equal(t, want, plaintext.Quote(text, most), "%.40q", text)
	}
}

func TestEndsShowsBoth(t *testing.T) {
	for text, want := range map[string][2]string{
		"123456789":                 {"123456789", ""},
		"1234567890":                {"123456 … 890", " (cut: 10 characters)"},
		"123456" + "xx" + "e\u0301": {"123456 … ", " (cut: 10 characters)"},
		"123456      ":              {"123456 …  ", " (cut: 12 characters)"},
	} {
		shown, note := plaintext.Ends(text, 9)
		require.Equal(t, want, [2]string{shown, note}, text)
	}
}

func marks(n int) string { return strings.Repeat("\u0336", n) }

// Whatever goes in, nothing that steers comes out, and doing it twice changes nothing.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "a\r\n\tb\r", "\x1b[31m\u009b2J\x7f", "\u202a\u202e\u2066\u2069", "\xff\xed\xa0\x80", "\"\\\u2028\u200b\u0301", "a" + marks(9)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown := plaintext.Text(text)
		require.True(t, utf8.ValidString(shown))
		require.Equal(t, -1, strings.IndexFunc(shown, func(r rune) bool {
			return r != '\n' && r != '\t' && unicode.IsControl(r) || strings.ContainsRune("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", r)
		}), "%+q", shown)
		require.Equal(t, shown, plaintext.Text(shown))

		const most = 40
		quoted := plaintext.Quote(text, most)
		require.Equal(t, quoted, plaintext.Text(quoted))
		require.Equal(t, -1, strings.IndexFunc(quoted, func(r rune) bool { return !unicode.IsGraphic(r) }), "%+q", quoted)
		require.LessOrEqual(t, utf8.RuneCountInString(quoted), most+3)
		whole, cut := strings.CutSuffix(quoted, "…")
		unquoted, err := strconv.Unquote(whole)
		require.NoError(t, err, "%s is not one quotation", whole)
		require.True(t, strings.HasPrefix(strings.ToValidUTF8(text, "\ufffd"), unquoted) || !utf8.ValidString(text))
		if utf8.ValidString(text) && !cut {
			require.Equal(t, text, unquoted)
		}
	})
}

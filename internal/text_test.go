package internal_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/plaintext"
	"github.com/mrtr-go/sdk/internal/spelling"
)

func TestNearest(t *testing.T) {
	names := []string{"get_forecast", "list_places", "getForecasts", "wipe"}
	for _, tc := range []struct {
		explanation, name string
		most              int
		want              []string
	}{
		{"case and separators do not count", "GET-FORECAST", 1, []string{"get_forecast"}},
		{"nearest first", "getforecasts", 2, []string{"getForecasts", "get_forecast"}},
		{"a part of a name", "places", 3, []string{"list_places"}},
		{"no name is near", "translate", 3, nil},
		{"one letter of four", "wips", 3, []string{"wipe"}},
		{"a name too long to compare", strings.Repeat("wipe", 33), 3, nil},
	} {
		require.Equal(t, tc.want, spelling.Nearest(tc.name, names, tc.most), tc.explanation)
	}
	require.Nil(t, spelling.Nearest("wipe", []string{strings.Repeat("wipe", 33)}, 1))
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"lisbon", "lisbon", 0},
		{"lisbn", "lisbon", 1},
		{"lisbom", "lisbon", 1},
		{"kitten", "sitting", 3},
		{"münchen", "munchen", 1},
	} {
		require.Equal(t, c.want, spelling.Distance(c.a, c.b), "%s, %s", c.a, c.b)
		require.Equal(t, c.want, spelling.Distance(c.b, c.a), "%s, %s", c.b, c.a)
	}
}

// Nearest is bounded in its work, whatever a client sends: among a thousand names that cost
// much and lead nowhere it gives up, and still finds the ordinary misspelling.
func TestTheWorkForANameIsBounded(t *testing.T) {
	name := strings.Repeat("abcdefgh", 16)
	near := name[:len(name)-1] + "x"
	for at, want := range map[int][]string{20: {near}, 999: nil} {
		var names []string
		for range 1000 {
			names = append(names, strings.Repeat("hgfedcba", 16))
		}
		names[at] = near
		require.Equal(t, want, spelling.Nearest(name, names, 1), "at %d", at)
	}
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("list_invoices_%04d", i))
	}
	require.Contains(t, spelling.Nearest("list_invoice_0500x", names, 3), "list_invoices_0500")
}

// Nearest suggests a word for another if few letters differ for their length.
func TestNearestGoesByTheDistance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		word := "xyz"
		for range 2 + random.IntN(5) {
			word += string([]rune("abcdé")[random.IntN(5)])
		}
		return word
	}
	suggested := 0
	for range 5_000 {
		a, b := word(), word()
		if strings.Contains(a, b) || strings.Contains(b, a) {
			continue
		}
		longer := max(len(a), len(b))
		near := spelling.Distance(a, b) <= min(1+longer/4, (longer-1)/2)
		require.Equal(t, near, spelling.Nearest(a, []string{b}, 1) != nil, "%s, %s", a, b)
		if near {
			suggested++
		}
	}
	require.NotZero(t, suggested)
}

func TestTextThatHasNothingToHideIsFree(t *testing.T) {
	require.Equal(t, "a\n\\u000d", plaintext.Text("a\r\n\r")) // as Windows ends lines
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
	for _, seed := range []string{"", "a\r\n\tb\r", "\x1b[31m\u009b2J\x7f\u009f", "\u202a\u202e\u2066\u2069", "\xff\xed\xa0\x80", "\"\\\u2028\u200b\u0301", "a" + marks(9)} {
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

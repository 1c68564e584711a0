package internal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

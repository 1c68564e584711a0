package spelling_test

import (
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

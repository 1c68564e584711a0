package options_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/options"
)

func TestPlaces(t *testing.T) {
	require.Equal(t, []string{
		"Lisbon", "Tokyo", "Reykjavik",
		"Springfield, Illinois", "Springfield, Massachusetts", "Springfield, Missouri",
	}, options.Places())
}

func TestFind(t *testing.T) {
	springfields := []string{"Springfield, Illinois", "Springfield, Massachusetts", "Springfield, Missouri"}
	cases := []struct {
		name        string
		found       []string
		explanation string
	}{
		{"Lisbon", []string{"Lisbon"}, "a name that fits one place"},
		{"lisbon", []string{"Lisbon"}, "case does not matter"},
		{" Lisbon\n", []string{"Lisbon"}, "nor does space around it"},
		{"Springfield", springfields, "the city of several places"},
		{"springfield, missouri", []string{"Springfield, Missouri"}, "the full name is one place"},
		{"Spring", nil, "a part of a name is no name"},
		{"Illinois", nil, "nor is the state"},
		{"", nil, "nor is the empty name"},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			found, err := options.Find(c.name)
			require.Equal(t, c.found, found)
			var unknown *options.UnknownPlace
			require.Equal(t, c.found == nil, errors.As(err, &unknown))
			if unknown != nil {
				require.Equal(t, c.name, strings.TrimSpace(unknown.Name))
			}
		})
	}
}

func TestUnknownPlaceNamesTheNearest(t *testing.T) {
	cases := []struct {
		typed       string
		nearest     []string
		explanation string
	}{
		{"Lisboa", []string{"Lisbon", "Tokyo", "Reykjavik"}, "one letter off; then the shortest places"},
		{"REYKJAVÍK", []string{"Reykjavik", "Tokyo", "Lisbon"}, "case does not count, an accent is one letter"},
		{"Springfeld", []string{"Springfield, Illinois", "Springfield, Massachusetts", "Springfield, Missouri"}, "a city is compared without its state"},
		{"Springfield, Misouri", []string{"Springfield, Missouri", "Springfield, Illinois", "Springfield, Massachusetts"}, "and with it"},
		{"", []string{"Tokyo", "Lisbon", "Reykjavik"}, "the empty name is nearest to the shortest places"},
		{strings.Repeat("x", 4<<20), []string{"Lisbon", "Tokyo", "Reykjavik"}, "four million letters are as quick as sixty; equally near places keep their order"},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			e := &options.UnknownPlace{Name: c.typed}
			selector, candidates := e.ToolErrorSelector()
			require.Equal(t, "location", selector)
			require.Equal(t, c.nearest, candidates)
			require.EqualError(t, e, "Unknown place. Nearest: "+strings.Join(c.nearest, ", ")+".")
			require.Equal(t, "not_found", e.ToolErrorType())
			require.True(t, e.ToolErrorExpected())
			require.Len(t, e.ToolErrorHints(), 1)
		})
	}
}

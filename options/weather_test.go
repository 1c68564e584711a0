package options_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

func TestReports(t *testing.T) {
	cases := []struct{ place, units, text string }{
		{"Lisbon", "metric", "Weather in Lisbon: 22°C, partly cloudy."},
		{"Lisbon", "imperial", "Weather in Lisbon: 72°F, partly cloudy."},
		{"Tokyo", "metric", "Weather in Tokyo: 26°C, light rain."},
		{"Tokyo", "imperial", "Weather in Tokyo: 79°F, light rain."},
		{"Reykjavik", "metric", "Weather in Reykjavik: 4°C, overcast."},
		{"Reykjavik", "imperial", "Weather in Reykjavik: 39°F, overcast."},
		{"Springfield, Illinois", "metric", "Weather in Springfield, Illinois: 18°C, clear."},
		{"Springfield, Illinois", "imperial", "Weather in Springfield, Illinois: 64°F, clear."},
		{"Springfield, Massachusetts", "metric", "Weather in Springfield, Massachusetts: 12°C, fog."},
		{"Springfield, Massachusetts", "imperial", "Weather in Springfield, Massachusetts: 54°F, fog."},
		{"Springfield, Missouri", "metric", "Weather in Springfield, Missouri: 21°C, sunny."},
		{"Springfield, Missouri", "imperial", "Weather in Springfield, Missouri: 70°F, sunny."},
	}
	require.Len(t, cases, 2*len(options.Places()), "every place, in both units")
	for _, c := range cases {
		require.Equal(t, c.text, options.NewReport(c.place, c.units).Text())
	}
	structured, err := json.Marshal(options.NewReport("Lisbon", "metric"))
	require.NoError(t, err)
	require.Equal(t, `{"location":"Lisbon","temperature":22,"unit":"C","conditions":"partly cloudy"}`, string(structured))
}

func TestQuestions(t *testing.T) {
	require.NoError(t, options.Units.Err())
	require.Equal(t, "units", options.Units.Key())

	which, err := options.WhichPlace("Lisbon")
	require.NoError(t, err)
	require.Empty(t, which.Key(), "nobody is asked which Lisbon")
	place, ok := mrtr.Answer(nil, which)
	require.True(t, ok)
	require.Equal(t, "Lisbon", place)

	for _, name := range []string{"Springfield", " springfield "} {
		which, err := options.WhichPlace(name)
		require.NoError(t, err)
		require.NoError(t, which.Err())
		require.Equal(t, "place", which.Key())
	}

	_, err = options.WhichPlace("Atlantis")
	require.ErrorAs(t, err, new(*options.UnknownPlace))
}

func TestCard(t *testing.T) {
	var kept options.Card
	require.Empty(t, kept.Charges())
	kept.Charge("Lisbon")
	lines := kept.Charges()
	require.Equal(t, []string{"charged the card for Lisbon"}, lines)
	lines[0] = "something else"
	require.Equal(t, []string{"charged the card for Lisbon"}, kept.Charges(), "a copy")

	var told []string
	elsewhere := options.Card{Out: func(line string) { told = append(told, line) }}
	elsewhere.Charge("Tokyo")
	require.Equal(t, []string{"charged the card for Tokyo"}, told)
	require.Empty(t, elsewhere.Charges(), "Out keeps them")
}

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
		{"tisyo", []string{"Tokyo", "Lisbon", "Reykjavik"}, "nor does the case of the place"},
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

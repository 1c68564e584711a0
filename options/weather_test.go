package options_test

import (
	"encoding/json"
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

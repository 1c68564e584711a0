package prove_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/store"
)

// weather is the scenario by which every style of the weather tool is proved.
var weather = prove.Scenario{
	Tool: "weather", OtherTool: "weather_again",
	Arguments: map[string]any{"location": "Springfield"}, OtherArguments: map[string]any{"location": "Tokyo"},
	Answers:      map[string]any{"place": "Springfield, Illinois", "units": "imperial"},
	OtherAnswers: map[string]any{"place": "Springfield, Missouri", "units": "metric"},
}

// strictWeather demands single use as well.
func strictWeather() prove.Scenario {
	s := weather
	s.Strict = true
	return s
}

func TestOurStylesKeepEveryMustAndShould(t *testing.T) {
	require.Len(t, options.All, 8)
	for _, o := range options.All {
		t.Run(o.Name, func(t *testing.T) {
			report := provedInMemory(t, o.New, weather, nil)
			require.Empty(t, report.Failures(prove.Should), report.String())
		})
	}
}

// With a store every style has its effects once, however often a round is sent.
func TestOurStylesKeepEveryRuleWithAStore(t *testing.T) {
	for _, o := range options.All {
		t.Run(o.Name, func(t *testing.T) {
			report := provedInMemory(t, o.New, strictWeather(), shared{store.NewMemory(nil)})
			require.Empty(t, report.Failures(prove.Ours), report.String())
		})
	}
}

func TestTheLandminesAreCondemned(t *testing.T) {
	require.NotEmpty(t, landmine.All)
	for _, o := range landmine.All {
		t.Run(o.Name, func(t *testing.T) {
			report := provedInMemory(t, o.New, weather, nil)
			f, ok := report.Of("effect/once")
			require.True(t, ok)
			require.Equal(t, prove.Fail, f.Outcome, report.String())
		})
	}
}

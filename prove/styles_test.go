package prove_test

import (
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/statecodec"
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

// serves builds the servers of a style, which share a store where stored is set.
func serves(t *testing.T, o options.Option, stored bool) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		var remembers store.Store
		if stored {
			remembers = mrtrtest.Shared(w, "store", func() store.Store { return shared{store.NewMemory(nil)} })
		}
		key, err := statecodec.NewKey(w.Key())
		require.NoError(t, err)
		rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}, Store: remembers})
		require.NoError(t, err)
		w.Cleanup(func() { require.NoError(t, rt.Close()) })
		handler := o.New(rt, &options.Audit{Out: func(string) { w.Effect("audit") }})
		server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
		for _, name := range []string{weather.Tool, weather.OtherTool} {
			mcp.AddTool(server, &mcp.Tool{Name: name}, handler)
		}
		return server
	}
}

// shared is a store in memory that stands for a machine's.
type shared struct{ *store.Memory }

func (shared) Scope() store.Scope { return store.Machine }

// inMemory is the proof of a style by all rules, which several tests judge. Each
// style is proved once.
func inMemory(t *testing.T, o options.Option, stored bool) *prove.Report {
	t.Helper()
	type proof struct {
		once   sync.Once
		report *prove.Report
	}
	type key struct {
		style  string
		stored bool
	}
	made, _ := proofs.LoadOrStore(key{o.Name, stored}, &proof{})
	p := made.(*proof)
	p.once.Do(func() {
		scenario := weather
		scenario.Strict = stored
		p.report = mrtrtest.Examine(t, serves(t, o, stored), scenario, nil)
	})
	require.NotNil(t, p.report, "the proof failed in another test")
	return p.report
}

var proofs sync.Map

func TestOurStylesKeepEveryMustAndShould(t *testing.T) {
	require.Len(t, options.All, 8)
	for _, o := range options.All {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			report := inMemory(t, o, false)
			require.Empty(t, report.Failures(prove.Should), report.String())
			for _, rule := range []string{"server/leaves-nothing", "instance/leaks"} {
				left, ok := report.Of(rule)
				require.True(t, ok)
				require.Equal(t, prove.Pass, left.Outcome, left.String())
			}
		})
	}
}

// With a store every style has its effects once, however often a round is sent.
func TestOurStylesKeepEveryRuleWithAStore(t *testing.T) {
	require.NotEmpty(t, options.All)
	for _, o := range options.All {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			if thorough {
				report := inMemory(t, o, true)
				require.Empty(t, report.Failures(prove.Ours), report.String())
				return
			}
			report := mrtrtest.Examine(t, serves(t, o, true), strictWeather(), &prove.Options{Only: []string{"round", "effect", "server/leaves-nothing"}})
			require.Empty(t, report.Failures(prove.Ours), report.String())
		})
	}
}

func TestTheLandminesAreCondemned(t *testing.T) {
	require.NotEmpty(t, landmine.All)
	for _, o := range landmine.All {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			report := inMemory(t, o, false)
			f, ok := report.Of("effect/once")
			require.True(t, ok)
			require.Equal(t, prove.Fail, f.Outcome, report.String())
		})
	}
}

package prove_test

import (
	"context"
	"crypto/rand"
	"flag"
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/prove/provetest"
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

// serves builds the servers of a style, which share a store where stored is set.
func serves(t *testing.T, o options.Option, stored bool) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		_, server := serve(t, w, o, stored)
		return server
	}
}

func serve(t *testing.T, w *mrtrtest.World, o options.Option, stored bool) (*mrtr.Runtime, *mcp.Server) {
	var remembers store.Store
	if stored {
		remembers = w.Store()
	}
	rt, server := weatherServer(t, o, w.Key(), remembers, func(string) { w.Effect("audit") })
	w.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt, server
}

// weatherServer serves a style's tool under both names of the scenario.
func weatherServer(t *testing.T, o options.Option, secret []byte, remembers store.Store, audit func(string)) (*mrtr.Runtime, *mcp.Server) {
	key := must(statecodec.NewKey(secret))(t)
	opts := &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}}
	if remembers != nil {
		opts.Durable = durable.In(remembers, nil)
	}
	rt := must(mrtr.New(opts))(t)
	handler := o.New(rt, &options.Card{Out: audit})
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	for _, name := range []string{weather.Tool, weather.OtherTool} {
		mrtr.AddTool(server, &mcp.Tool{Name: name}, handler)
	}
	return rt, server
}

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
		if scenario.Repeatable = !stored; stored {
			scenario.Key = "idempotencyKey" // see mrtr.Options.SameKey
		}
		p.report = provetest.Examine(t, serves(t, o, stored), scenario, nil)
	})
	require.NotNil(t, p.report, "the proof failed in another test")
	return p.report
}

var proofs sync.Map

func TestOurStylesKeepEveryMustAndShould(t *testing.T) {
	require.Len(t, options.All, 9)
	for _, o := range options.All {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			report := inMemory(t, o, false)
			require.Empty(t, report.Failures(prove.Ours), report.String())
			require.LessOrEqual(t, report.Count(prove.Skip), 6, report.String())
			for _, rule := range []string{"server/leaves-nothing", "instance/leaks"} {
				left := of(t, report, rule)
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
			report := inMemory(t, o, true)
			require.Empty(t, report.Failures(prove.Ours), report.String())
			crashed := of(t, report, "once/crash") // in mid-effect: no style has a check with the card
			require.Equal(t, prove.Note, crashed.Outcome, crashed.String())
			require.Contains(t, crashed.Detail, "whether the effect happened is unknown")
			for _, rule := range []string{"once/merged", "replay/whole-call"} {
				require.Equal(t, prove.Pass, of(t, report, rule).Outcome, report.String())
			}
		})
	}
	without := provetest.Examine(t, serves(t, options.All[0], false), weather, &prove.Options{Only: []string{"once"}})
	require.NotEmpty(t, without.Failures(prove.Promise), "the demand cannot be met without a store")
}

// No store mends a landmine, which repeats its effect within one honest call.
func TestTheLandminesAreCondemned(t *testing.T) {
	require.NotEmpty(t, landmine.All)
	for _, o := range landmine.All {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			for _, stored := range []bool{false, true} {
				failures := inMemory(t, o, stored).Failures(prove.Ours)
				require.Len(t, failures, 1, "of its one fault: %s", failures)
				require.Equal(t, "once/honest", failures[0].Rule.Name)
				require.Equal(t, `"audit" happened twice instead of once`, failures[0].Detail)
				require.Contains(t, string(failures[0].Request), `"units":"imperial"`)
			}
		})
	}
}

// nightly, set by MRTR_NIGHTLY=1, runs the long tables. Without it a mistake is tried by the rules
// that it breaks.
var nightly = os.Getenv("MRTR_NIGHTLY") == "1"

// unlessNightly are the rules and groups that are tried; nil, which is all, where
// they are the nightly ones.
func unlessNightly(only ...string) []string {
	if nightly {
		return nil
	}
	return only
}

// TestMain lets the proofs run side by side. They allocate much and keep little, so
// the collector need not run often.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// of is the finding of a rule, which was tried or skipped.
func of(t *testing.T, report *prove.Report, rule string) prove.Finding {
	t.Helper()
	f, ok := report.Of(rule)
	require.True(t, ok, rule)
	return f
}

// inBubble is a test in a bubble, where time passes at once.
func inBubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// must is the value of a call that must not fail: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// Servers take a state for a while after its time, since their clocks may differ. One that never
// looks at the time is found all the same.
func TestAToleranceForClocksIsNoFault(t *testing.T) {
	for ttl, want := range map[time.Duration]prove.Outcome{time.Second: prove.Pass, time.Hour: prove.Fail} {
		t.Run(ttl.String(), inBubble(func(t *testing.T) {
			key := must(statecodec.NewKey([]byte(rand.Text() + rand.Text())))(t)
			rt := must(mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}, TTL: ttl}}))(t)
			defer func() { require.NoError(t, rt.Close()) }()
			server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
			mrtr.AddTool(server, &mcp.Tool{Name: weather.Tool}, options.All[0].New(rt, &options.Card{Out: func(string) {}}))
			dial := func(ctx context.Context, _ *prove.Caller) (*prove.Endpoint, error) {
				here, there := mcp.NewInMemoryTransports()
				_, err := server.Connect(context.WithoutCancel(ctx), there, nil)
				return &prove.Endpoint{Transport: here}, err
			}
			report := must(prove.Run(t.Context(), prove.Subject{
				Dial: dial, Brief: dial,
				Expire: func(context.Context) error { time.Sleep(2 * time.Second); return nil },
			}, weather, &prove.Options{Only: []string{"state/expired"}}))(t)
			require.Equal(t, want, of(t, report, "state/expired").Outcome, report.String())
		}))
	}
}

package mrtrtest_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

var (
	seat  = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)
	meals = mrtr.Choose("meal", "Which meal?", mrtr.Choices("fish", "beans")...)
)

// engine is a runtime whose rounds every instance of the deployment takes; records may be nil.
func engine(t *testing.T, w *mrtrtest.World, records store.Store) *mrtr.Runtime {
	key, err := statecodec.NewKey(w.Key())
	require.NoError(t, err)
	opts := &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}}
	if records != nil {
		opts.Durable = durable.In(records, nil)
	}
	rt, err := mrtr.New(opts)
	require.NoError(t, err)
	w.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt
}

// sealed is a tool with two questions and an effect between them, made with mrtr.
func sealed(t *testing.T) mrtrtest.Build {
	return serve(func(w *mrtrtest.World) mcp.ToolHandlerFor[trip, booking] {
		return mrtr.Tool(engine(t, w, nil), mrtr.Native(func(ctx context.Context, c *mrtr.Call, in trip) (*mrtr.IncompleteResult, booking, error) {
			where, ok := mrtr.Answer(c, seat)
			if !ok {
				return mrtr.Need(seat), booking{}, nil
			}
			_, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (bool, error) {
				w.Effect("hold " + where)
				return true, nil
			})
			if err != nil {
				return nil, booking{}, err
			}
			meal, ok := mrtr.Answer(c, meals)
			if !ok {
				return mrtr.Need(meals), booking{}, nil
			}
			w.Effect("charge")
			return nil, booking{Text: "Booked to " + in.To + ", " + where + ", " + meal + "."}, nil
		}), nil)
	})
}

func dinner() mrtrtest.Script {
	return mrtrtest.Script{Tool: "book", Arguments: trip{"Lisbon"}, Answers: mrtrtest.Answers{
		"seat": {mrtrtest.Value("window")}, "meal": {mrtrtest.Value("beans")},
	}}
}

// One call has one transcript, however often it is made and whoever serves it. The effects
// stand where they happened, and no state is shown.
func TestTranscript(t *testing.T) {
	for _, c := range []struct {
		file string
		opts *mrtrtest.Options
	}{
		{"modern.txtar", nil},
		{"modern.txtar", &mrtrtest.Options{FreshInstances: true}},
		{"legacy.txtar", &mrtrtest.Options{Era: mrtrtest.Legacy}},
		{"modern_taking_tasks.txtar", &mrtrtest.Options{Era: mrtrtest.TakesTasks}}, // of a server that has none
	} {
		for range 3 {
			out := mrtrtest.Call(t, sealed(t), dinner(), c.opts)
			require.Equal(t, []string{"hold window", "charge"}, out.Effects)
			mrtrtest.Golden(t, filepath.Join("testdata", c.file), out.Transcript())
		}
	}
}

func TestGolden(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "call.txtar")
	update := flag.Lookup("update")
	require.NotNil(t, update)
	before := update.Value.String()
	t.Cleanup(func() { require.NoError(t, update.Value.Set(before)) })

	require.NoError(t, update.Value.Set("false"))
	var absent recorder
	mrtrtest.Golden(&absent, file, "one\ntwo\n")
	require.NotEmpty(t, absent.errors)
	require.Contains(t, absent.errors[0], "go test -run '^TestRecorder$' -update")

	require.NoError(t, update.Value.Set("true"))
	mrtrtest.Golden(t, file, "one\ntwo\n")
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(written))

	require.NoError(t, update.Value.Set("false"))
	mrtrtest.Golden(t, file, "one\ntwo\n")
	for got, want := range map[string]string{
		"one\n2\n":          ":2 differs; go test -update writes it anew\n  want: two\n  got:  2",
		"one\n":             ":2 differs; go test -update writes it anew\n  want: two\n  got:  ",
		"one\ntwo\nthree\n": ":3 differs; go test -update writes it anew\n  want: \n  got:  three",
		"one\ntwo":          ":3 differs; go test -update writes it anew\n  want: \n  got:  (the end)",
	} {
		var failed recorder
		mrtrtest.Golden(&failed, file, got)
		require.Len(t, failed.errors, 1)
		require.Contains(t, failed.errors[0], want)
	}
	require.NoError(t, os.WriteFile(file, []byte("one\r\ntwo\r\n"), 0o644))
	mrtrtest.Golden(t, file, "one\ntwo\n")
}

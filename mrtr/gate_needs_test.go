package mrtr_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// charging is a tool in every style that charges and then asks for the units.
func charging(charge func()) map[string]mrtr.Style[input, output] {
	once := func(ctx context.Context, c *mrtr.Call) error {
		_, err := mrtr.Once(ctx, c, "charge", func(context.Context, string) (bool, error) { charge(); return true, nil })
		return err
	}
	native := mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		if err := once(ctx, c); err != nil {
			return nil, output{}, err
		}
		v, ok := mrtr.Answer(c, units)
		if !ok {
			return mrtr.Need(units), output{}, nil
		}
		return nil, output{v}, nil
	})
	linear := func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
		if err := once(ctx, c); err != nil {
			return output{}, err
		}
		v, err := mrtr.Ask(ctx, c, units)
		return output{v}, err
	}
	inPlace := mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		charge()
		v, err := units.AskOver(ctx, c.Session())
		return nil, output{v}, err
	})
	return map[string]mrtr.Style[input, output]{
		"native": native, "coroutine": mrtr.Coroutine(linear), "journal": mrtr.Journal(linear), "resumable": mrtr.Resumable(linear),
		"by version": mrtr.ByVersion(native, inPlace),
	}
}

// chargingSteps is the same tool in steps, which know by themselves which capabilities they
// always ask.
func chargingSteps(charge func()) mrtr.Style[input, output] {
	var b mrtr.Steps[input, output]
	mrtr.DoStep(&b, "charge", func(context.Context, *mrtr.At[input], string) (bool, error) { charge(); return true, nil })
	unit := mrtr.AskQuestion(&b, "units", units)
	b.End(func(_ context.Context, at *mrtr.At[input]) (output, error) { return output{unit.Of(at)}, nil })
	return b.MustBuild()
}

// A client that cannot be asked a question of every call is refused before anything
// has happened, with the words that it would hear at the question, in both eras
// and in every style.
func TestNeedsRefuseBeforeAnythingHappens(t *testing.T) {
	charged := 0
	charge := func() { charged++ }
	listed := &mrtr.HandlerOptions{Needs: []mrtr.AnyQuestion{units}}
	type tool struct {
		style mrtr.Style[input, output]
		opts  *mrtr.HandlerOptions
	}
	tools := map[string]tool{"steps": {chargingSteps(charge), nil}, "steps for legacy clients": {mrtr.ByVersion(charging(charge)["native"], chargingSteps(charge)), listed}}
	for name, style := range charging(charge) {
		tools[name] = tool{style, listed}
	}
	for name, tool := range tools {
		t.Run(name, func(t *testing.T) {
			rt, seen := newRuntime(t, nil)
			server := newServer()
			mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, tool.style, tool.opts))
			charged = 0
			out := call(t, connect(t, server, &wire.Options{Capabilities: wire.URLOnly}), nil)
			require.NotNil(t, out.Error)
			require.EqualValues(t, -32021, out.Error.Code)
			require.JSONEq(t, `{"requiredCapabilities":`+needsForm+`}`, string(out.Error.Data))
			out = call(t, connect(t, server, legacyMute), nil)
			require.True(t, out.IsError)
			require.Equal(t, noForm, out.Text)
			out = call(t, connect(t, server, negotiatedDown), nil)
			require.True(t, out.IsError)
			require.Equal(t, noStream, out.Text)
			require.Zero(t, charged, "charged a client that could not be asked")
			require.Zero(t, seen.entries())
			require.Len(t, seen.of(mrtr.CallStopped), 3)

			for _, opts := range []*wire.Options{nil, legacyClient} {
				charged = 0
				said(t, call(t, connect(t, server, opts), wire.Answers{"units": wire.Value("metric")}), "metric")
				require.Equal(t, 1, charged)
			}
		})
	}
}

func TestNeedsOfPromptsAndResources(t *testing.T) {
	rt, seen := newRuntime(t, nil)
	needs := &mrtr.HandlerOptions{Needs: []mrtr.AnyQuestion{units}}
	server := newServer()
	server.AddPrompt(&mcp.Prompt{Name: "one"}, mrtr.Prompt(rt, mrtr.Native(func(context.Context, *mrtr.Call, map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		return nil, nil, nil
	}), needs))
	server.AddResource(&mcp.Resource{Name: "one", URI: "mem://one"}, mrtr.Resource(rt, mrtr.Native(func(context.Context, *mrtr.Call, string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
		return nil, nil, nil
	}), needs))
	for _, m := range methods[1:] {
		out, err := connect(t, server, legacyMute).Run(t.Context(), m.first, nil)
		require.NoError(t, err)
		require.NotNil(t, out.Error)
		require.Equal(t, noForm, out.Error.Message)
		out, err = connect(t, server, &wire.Options{Capabilities: wire.Nothing}).Run(t.Context(), m.first, nil)
		require.NoError(t, err)
		require.NotNil(t, out.Error)
		require.EqualValues(t, -32021, out.Error.Code)
	}
	require.Zero(t, seen.entries())
}

// Where a default stands in, nobody is refused.
func TestNeedsHeedDefaultsAndEras(t *testing.T) {
	withDefault := &mrtr.HandlerOptions{Legacy: mrtr.LegacyDefaults, Needs: []mrtr.AnyQuestion{units.Default("metric")}}
	rt, _ := newRuntime(t, nil)
	server := serveTool(rt, asking(units.Default("metric"), itself), withDefault)
	said(t, call(t, connect(t, server, legacyMute), nil), "metric")
	said(t, call(t, connect(t, server, legacyClient), nil), "metric")
	require.EqualValues(t, -32021, call(t, connect(t, server, &wire.Options{Capabilities: wire.Nothing}), nil).Error.Code)

	// The questions that the steps for one era always ask are not needs of the other.
	silent := mrtr.Native(func(context.Context, *mrtr.Call, input) (*mrtr.IncompleteResult, output, error) {
		return nil, output{"x"}, nil
	})
	steps := chargingSteps(func() {})
	for explanation, style := range map[string]mrtr.Style[input, output]{"steps": mrtr.ByVersion(silent, steps), "steps in steps": mrtr.ByVersion(silent, mrtr.ByVersion(silent, steps))} {
		rt, _ = newRuntime(t, nil)
		server = newServer()
		mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, nil))
		said(t, call(t, connect(t, server, &wire.Options{Capabilities: wire.Nothing}), nil), "x")
		require.Equal(t, noForm, call(t, connect(t, server, legacyMute), nil).Text, explanation)
	}
}

// A question in Needs that refuses nobody is a mistake.
func TestNeedsThatDoNothingAreRefused(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	for want, q := range map[string]mrtr.AnyQuestion{
		"mrtr: HandlerOptions.Needs has a question that is Known: nobody is asked it":                         mrtr.Known("x"),
		`mrtr: HandlerOptions.Needs has question "sure", which goes on without an answer: it refuses nobody`:  mrtr.Confirm("sure", "Sure?"),
		`mrtr: HandlerOptions.Needs has question "units", which goes on without an answer: it refuses nobody`: mrtr.Optional(units),
		"mrtr: a question is nil":                               nil,
		`mrtr: question "q": its message is empty or not UTF-8`: mrtr.Elicit[string]("q", ""),
	} {
		require.PanicsWithError(t, want, func() {
			mrtr.Tool(rt, mrtr.Native(asking(units, itself)), &mrtr.HandlerOptions{Needs: []mrtr.AnyQuestion{q}})
		})
	}
}

func TestAStepThatAlwaysAsksIsCheckedWhenItIsBuilt(t *testing.T) {
	for want, q := range map[string]mrtr.Question[string]{
		`mrtr: step "unit" asks a question with another key, "units"`: units,
		`mrtr: question "unit": its message is empty or not UTF-8`:    mrtr.Elicit[string]("unit", ""),
	} {
		var b mrtr.Steps[input, output]
		mrtr.AskQuestion(&b, "unit", q)
		b.End(func(context.Context, *mrtr.At[input]) (output, error) { return output{}, nil })
		_, err := b.Build()
		require.EqualError(t, err, want)
	}
}

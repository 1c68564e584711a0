package mrtr_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse"
)

// twoQuestions asks units, which has a default, and then a place, which has one
// if the test wants it.
func twoQuestions(placeDefault string) nativeHandler {
	unit := units.Default("metric")
	place := mrtr.Elicit[string]("place", "Which place?")
	if placeDefault != "" {
		place = place.Default(placeDefault)
	}
	return func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		u, ok := mrtr.Answer(c, unit)
		if !ok {
			return mrtr.Need(unit), output{}, nil
		}
		p, ok := mrtr.Answer(c, place)
		if !ok {
			return mrtr.Need(place), output{}, nil
		}
		return nil, output{u + " in " + p}, nil
	}
}

var (
	legacyClient    = &wire.Options{Version: wire.Legacy}
	legacyMute      = &wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing}
	negotiatedDown  = &wire.Options{Version: wire.Modern, Handshake: true}
	imperialInPlace = wire.Answers{"units": wire.Value("imperial"), "place": wire.Value("Oslo")}
)

const (
	noForm     = `This client cannot be asked for "units": it lacks form elicitation.`
	noRevision = `This client cannot be asked for "units": it lacks protocol revision 2026-07-28.`
	noStream   = `This client cannot be asked for "units": it lacks protocol revision 2026-07-28, or a session that can carry a question.`
	noPlace    = `This client cannot be asked for "place": it lacks protocol revision 2026-07-28.`
)

// Under every policy a legacy client gets one complete result: never a round of
// questions, which it would read as an empty success, and never a hang.
func TestPoliciesForLegacyClients(t *testing.T) {
	for _, c := range []struct {
		explanation string
		policy      mrtr.LegacyPolicy
		client      *wire.Options
		defaults    string // the place's default
		text        string // the answer, or the error's text
		fails       bool
		asked       int
	}{
		{"bridge asks", mrtr.LegacyBridge, legacyClient, "Rome", "imperial in Oslo", false, 2},
		{"the zero policy bridges", mrtr.LegacyInherit, legacyClient, "Rome", "imperial in Oslo", false, 2},
		{"bridge cannot ask who declared nothing", mrtr.LegacyBridge, legacyMute, "Rome", noForm, true, 0},
		{"bridge cannot ask who was negotiated down", mrtr.LegacyBridge, negotiatedDown, "Rome", noStream, true, 0},

		{"bridge or defaults asks", mrtr.LegacyBridgeOrDefaults, legacyClient, "Rome", "imperial in Oslo", false, 2},
		{"or defaults for who declared nothing", mrtr.LegacyBridgeOrDefaults, legacyMute, "Rome", "metric in Rome", false, 0},
		{"or defaults for who was negotiated down", mrtr.LegacyBridgeOrDefaults, negotiatedDown, "Rome", "metric in Rome", false, 0},

		{"defaults never ask", mrtr.LegacyDefaults, legacyClient, "Rome", "metric in Rome", false, 0},
		{"defaults, negotiated down", mrtr.LegacyDefaults, negotiatedDown, "Rome", "metric in Rome", false, 0},
		{"no default to go on with", mrtr.LegacyDefaults, legacyClient, "", noPlace, true, 0},

		{"refuse", mrtr.LegacyRefuse, legacyClient, "Rome", noRevision, true, 0},
		{"refuse who declared nothing", mrtr.LegacyRefuse, legacyMute, "Rome", noRevision, true, 0},
		{"refuse who was negotiated down", mrtr.LegacyRefuse, negotiatedDown, "Rome", noStream, true, 0},

		{"rounds, negotiated down", mrtr.LegacyPassThrough, negotiatedDown, "Rome", noStream, true, 0},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			check := func(rt *mrtr.Runtime, opts *mrtr.HandlerOptions) {
				t.Helper()
				client := connect(t, serveTool(rt, twoQuestions(c.defaults), opts), c.client)
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
				out, err := client.Call(ctx, "tool", map[string]any{}, imperialInPlace)
				require.NoError(t, err)
				require.Nil(t, out.Error)
				require.False(t, out.Incomplete(), "it would read as an empty success")
				require.Equal(t, 1, client.Requests("tools/call"))
				require.Len(t, client.Asked(), c.asked)
				require.Equal(t, c.fails, out.IsError, out.Text)
				if c.fails {
					require.Equal(t, c.text, out.Text)
				} else {
					said(t, out, c.text)
				}
			}
			rt, _ := newRuntime(t, &mrtr.Options{Legacy: c.policy})
			check(rt, nil)
			other, _ := newRuntime(t, &mrtr.Options{Legacy: mrtr.LegacyRefuse})
			if c.policy != mrtr.LegacyInherit {
				check(other, &mrtr.HandlerOptions{Legacy: c.policy})
			}
		})
	}
}

// A modern client is asked whatever the policy; a default is no answer of its
// user's.
func TestPoliciesLeaveModernClientsAlone(t *testing.T) {
	for policy := mrtr.LegacyInherit; policy <= mrtr.LegacyPassThrough; policy++ {
		rt, _ := newRuntime(t, &mrtr.Options{Legacy: policy})
		server := serveTool(rt, twoQuestions("Rome"), nil)
		client := connect(t, server, nil)
		said(t, call(t, client, imperialInPlace), "imperial in Oslo")

		mute := connect(t, server, &wire.Options{Capabilities: wire.Nothing})
		out := call(t, mute, nil)
		require.NotNil(t, out.Error, "no default for a client that could have declared the capability")
		require.EqualValues(t, -32021, out.Error.Code)
	}
}

// LegacyPassThrough leaves the rounds to whoever wraps the handler.
func TestRoundsForABridgeOfOnesOwn(t *testing.T) {
	rt, _ := newRuntime(t, &mrtr.Options{Legacy: mrtr.LegacyPassThrough})
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, sse.Bridge(mrtr.Tool(rt, mrtr.Native(twoQuestions("")), nil), nil))
	client := connect(t, server, legacyClient)
	said(t, call(t, client, imperialInPlace), "imperial in Oslo")
	require.Len(t, client.Asked(), 2)
}

// A stateless HTTP server has no stream to ask a legacy client over.
func TestLegacyClientsOfAStatelessServer(t *testing.T) {
	for policy, want := range map[mrtr.LegacyPolicy]string{mrtr.LegacyBridge: noStream, mrtr.LegacyBridgeOrDefaults: ""} {
		rt, _ := newRuntime(t, &mrtr.Options{Legacy: policy})
		server := serveTool(rt, twoQuestions("Rome"), nil)
		mcp.AddTool(server, &mcp.Tool{Name: "plain"}, mrtr.Tool(rt, mrtr.Native(carrying(0)), nil))
		front := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
		client, err := wire.Dial(context.Background(), &mcp.StreamableClientTransport{Endpoint: front.URL, DisableStandaloneSSE: true}, legacyClient)
		require.NoError(t, err)
		out := call(t, client, imperialInPlace)
		require.Nil(t, out.Error)
		require.Empty(t, client.Asked())
		if want != "" {
			require.True(t, out.IsError)
			require.Equal(t, want, out.Text)
		} else {
			said(t, out, "metric in Rome")
		}
		plain, err := client.Call(context.Background(), "plain", map[string]any{}, nil)
		require.NoError(t, err)
		said(t, plain, "done")
		require.NoError(t, client.Close())
		front.Close()
	}
}

// A round that only carries state means nothing to a legacy client: the engine
// goes on by itself, also where it never asks.
func TestLegacyClientsAndRoundsThatOnlyCarry(t *testing.T) {
	for policy := mrtr.LegacyBridge; policy <= mrtr.LegacyRefuse; policy++ {
		for _, opts := range []*wire.Options{legacyClient, legacyMute, negotiatedDown} {
			rt, _ := newRuntime(t, &mrtr.Options{Legacy: policy})
			client := connect(t, serveTool(rt, carrying(2), nil), opts)
			said(t, call(t, client, nil), "done")
		}
	}
}

// The answers of a legacy client are judged as those of a modern one.
func TestLegacyClientsAreAskedAgainToo(t *testing.T) {
	rt, seen := newRuntime(t, nil)
	client := connect(t, serveTool(rt, asking(units, itself), nil), legacyClient)
	out := call(t, client, wire.Answers{"units": wire.InTurn(wire.Value("kelvin"), wire.Raw(`{"action":"banana"}`), wire.Value("metric"))})
	said(t, out, "metric")
	require.Equal(t, 2, seen.entries())

	out = call(t, client, wire.Answers{"units": wire.Value("kelvin")})
	require.True(t, out.IsError)
	require.Equal(t, `Stopped: "units" was asked 4 times without a usable answer.`, out.Text)

	out = call(t, client, wire.Answers{"units": wire.Decline})
	require.True(t, out.IsError)
	require.Equal(t, `Stopped: "units" was declined.`, out.Text)
}

func TestLegacyClientsOfPromptsAndResources(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	server := everything(rt)
	for _, m := range methods {
		client := connect(t, server, legacyClient)
		out, err := client.Run(context.Background(), m.first, wire.Answers{"units": wire.Value("metric")})
		require.NoError(t, err)
		require.Nil(t, out.Error)
		require.Contains(t, string(out.Result), "metric")
		require.Len(t, client.Asked(), 1)

		mute := connect(t, server, legacyMute)
		out, err = mute.Run(context.Background(), m.first, nil)
		require.NoError(t, err)
		if m.first.Method == "tools/call" {
			require.True(t, out.IsError)
			require.Equal(t, noForm, out.Text)
			continue
		}
		require.NotNil(t, out.Error)
		require.Equal(t, noForm, out.Error.Message)
	}
}

// A handler for legacy clients alone asks over the session, in place.
func TestOneHandlerAVersion(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	old := mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		require.False(t, c.Modern())
		v, err := units.AskOver(ctx, c.Session())
		if err != nil {
			return nil, output{}, err
		}
		sure, err := mrtr.Confirm("sure", "Really?").AskOver(ctx, c.Session())
		if err != nil {
			return nil, output{}, err
		}
		if !sure {
			v += ", unsure"
		}
		return nil, output{"old " + v}, nil
	})
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, mrtr.ByVersion(mrtr.Native(asking(units, itself)), old), nil))

	said(t, call(t, connect(t, server, nil), wire.Answers{"units": wire.Value("metric")}), "metric")

	client := connect(t, server, legacyClient)
	said(t, call(t, client, wire.Answers{"units": wire.InTurn(wire.Value("kelvin"), wire.Value("metric")), "sure": wire.Value(true)}), "old metric")
	require.Len(t, client.Asked(), 3)
	said(t, call(t, client, wire.Answers{"units": wire.Value("metric"), "sure": wire.Decline}), "old metric, unsure")
	for answer, text := range map[string]string{
		`{"action":"decline"}`:                             `Stopped: "units" was declined.`,
		`{"action":"cancel"}`:                              `Stopped: "units" was cancelled.`,
		`{"action":"accept","content":{"units":"kelvin"}}`: `Stopped: "units" was asked 4 times without a usable answer.`,
	} {
		out := call(t, client, wire.Answers{"units": wire.Raw(answer)})
		require.True(t, out.IsError)
		require.Equal(t, text, out.Text)
	}
	out := call(t, connect(t, server, legacyMute), nil)
	require.True(t, out.IsError)
	require.Equal(t, noForm, out.Text)
	out = call(t, connect(t, server, negotiatedDown), nil)
	require.True(t, out.IsError)
}

// A legacy client that does not answer ends the call at the bridge, outside of
// the engine. Its frame is unwound all the same, and the observer told.
func TestACallThatEndsAtItsBridgeLeavesNothing(t *testing.T) {
	rt, seen := newRuntime(t, nil)
	unwound := make(chan struct{})
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
		defer close(unwound)
		_, err := mrtr.Ask(ctx, c, units)
		return output{}, err
	}), nil))
	out := call(t, connect(t, server, &wire.Options{Version: wire.Legacy}), wire.Answers{"*": wire.Missing})
	require.True(t, out.IsError)
	<-unwound
	stopped := seen.of(mrtr.CallStopped)
	require.Len(t, stopped, 1)
	var failed *sse.Error
	require.ErrorAs(t, stopped[0].Err, &failed)
	require.Empty(t, seen.of(mrtr.CallAbandoned))
}

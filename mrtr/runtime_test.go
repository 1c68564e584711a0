package mrtr_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/statecodec"
)

func TestOptionsAreCheckedWhenTheRuntimeIsMade(t *testing.T) {
	for explanation, opts := range map[string]*mrtr.Options{
		"a policy that is none":    {Legacy: 99},
		"negative state":           {MaxStateBytes: -1},
		"negative questions":       {MaxQuestions: -1},
		"negative frames":          {MaxFrames: -1},
		"negative frames of one":   {MaxFramesPerPrincipal: -1},
		"negative life of a frame": {FrameTTL: -1},
		"negative rounds":          {Bridge: &sse.BridgeOptions{MaxRounds: -1}},
		"negative wait":            {Bridge: &sse.BridgeOptions{AnswerTimeout: -time.Second}},

		"more rounds than a call has":             {Bridge: &sse.BridgeOptions{MaxRounds: 10}},
		"more rounds of state":                    {Bridge: &sse.BridgeOptions{MaxStateRounds: 3}},
		"more frames of one than of all":          {MaxFrames: 10, MaxFramesPerPrincipal: 11},
		"a state that no token holds":             {MaxStateBytes: 16 << 20},
		"a state that the token is too small for": {MaxStateBytes: 4096, State: &statecodec.Options{Ephemeral: true, MaxToken: 4096}},
	} {
		_, err := mrtr.New(opts)
		var usage *mrtr.UsageError
		require.ErrorAs(t, err, &usage, explanation)
	}
	for explanation, opts := range map[string]*mrtr.Options{
		"as many rounds as a call has":              {Bridge: &sse.BridgeOptions{MaxRounds: 9, MaxStateRounds: 2}},
		"as many frames of one as of all":           {MaxFrames: 10, MaxFramesPerPrincipal: 10},
		"fewer frames than one may have by default": {MaxFrames: 10},
		"a large state":                             {MaxStateBytes: 12_000_000},
		"a small token":                             {State: &statecodec.Options{Ephemeral: true, MaxToken: 4096}},
		"a state that just fits":                    {MaxStateBytes: 2304, State: &statecodec.Options{Ephemeral: true, MaxToken: 4096}},
	} {
		rt, err := mrtr.New(opts)
		require.NoError(t, err, explanation)
		require.NoError(t, rt.Close())
	}
	_, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: make([]statecodec.Key, 1)}})
	var usage *statecodec.UsageError
	require.ErrorAs(t, err, &usage, "a key that is none")
}

// As with mcp.AddTool, a wrong registration is a fault of the program.
func TestRegistrationsAreCheckedAtOnce(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	require.Panics(t, func() { mrtr.Tool(rt, mrtr.Style[input, output]{}, nil) })
	require.Panics(t, func() { mrtr.Prompt(rt, mrtr.Style[map[string]string, *mcp.GetPromptResult]{}, nil) })
	require.Panics(t, func() {
		mrtr.Tool(rt, mrtr.Native(asking(units, itself)), &mrtr.HandlerOptions{Legacy: -1})
	})
}

// Without Options.Principal the principal is who the bearer token speaks for.
func TestThePrincipalIsTheTokensUser(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	var principal string
	h := mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		principal = c.Principal()
		return nil, output{}, nil
	}), nil)
	for _, c := range []struct {
		extra *mcp.RequestExtra
		want  string
	}{
		{nil, ""},
		{&mcp.RequestExtra{}, ""},
		{&mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: "ada"}}, "ada"},
	} {
		_, _, err := h(context.Background(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "tool"}, Extra: c.extra}, input{})
		require.NoError(t, err)
		require.Equal(t, c.want, principal)
	}
}

// All tokens without a user would be one principal, and could take up each
// other's calls.
func TestATokenWithoutAUserIsRefused(t *testing.T) {
	rt, seen := newRuntime(t, nil)
	h := mrtr.Tool(rt, mrtr.Native(asking(units, itself)), nil)
	extra := &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{"sub": "ada"}}}
	_, _, err := h(context.Background(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "tool"}, Extra: extra}, input{})
	require.EqualError(t, err, "This request was refused: its sender is not identified.")
	refused := seen.of(mrtr.PrincipalRefused)
	require.Len(t, refused, 1)
	require.Equal(t, "its token names no user: have the verifier set UserID, or set Options.Principal", refused[0].Reason)
}

func TestALogObserverWithoutALoggerUsesTheDefault(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	rt, _ := newRuntime(t, &mrtr.Options{Observer: mrtr.LogObserver(nil)})
	said(t, call(t, connect(t, serveTool(rt, asking(units, itself), nil), nil), wire.Answers{"units": wire.Value("metric")}), "metric")
	require.Contains(t, log.String(), "call completed")
}

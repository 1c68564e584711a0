package mrtr_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// Sixty addresses of 900 KiB are held nowhere, if 8 MiB may be.
func TestFramesOfResourcesWeighTheirAddresses(t *testing.T) {
	rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrameBytes: 8 << 20}})
	h := mrtr.Resource(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ string) (*mcp.ReadResourceResult, error) {
		_, err := linear.Ask(ctx, c, text("first"))
		return nil, err
	}), nil)
	held := 0
	for range 60 {
		res, err := h(t.Context(), &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{
			Meta: modernMeta(),
			URI:  "mem://" + strings.Repeat("x", 900<<10),
		}})
		if err == nil {
			require.NotEmpty(t, res.RequestState)
			held++
			continue
		}
		ended(t, err, mrtr.Busy)
	}
	require.Equal(t, 6, held, "three quarters of 8 MiB")
	require.Greater(t, mrtr.HeldBytes(rt), 6*900<<10)
	require.Less(t, mrtr.HeldBytes(rt), 6<<20)
}

// The answers that a held handler has are held too. A call whose next answer does
// not fit ends, or goes on without its frame where it can.
func TestFramesWeighTheirAnswers(t *testing.T) {
	for name, style := range map[string]linearStyle{
		"coroutine": linear.Coroutine[tripIn, tripOut], "resumable": linear.Resumable[tripIn, tripOut],
	} {
		t.Run(name, func(t *testing.T) {
			var did deeds
			rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrameBytes: 40_000}})
			tool := newTrip(rt, style(twoStops(&did)), "")
			var last []tripReply
			for range 5 {
				first := tool.begin()
				require.NoError(t, first.err, "there is room for questions without answers")
				last = append(last, tool.answer(first, strings.Repeat("x", 9_000)))
			}
			require.LessOrEqual(t, mrtr.HeldBytes(rt), 30_000)
			for i, reply := range last {
				if i < 3 || name == "resumable" {
					require.NoError(t, reply.err)
					require.True(t, strings.HasSuffix(tool.answer(reply, "y").plan, " y"))
					continue
				}
				busy := ended(t, reply.err, mrtr.Busy)
				require.Equal(t, "30000 bytes", busy.Detail)
				require.NotEmpty(t, effectOf(reply.err), "an effect has run")
			}
		})
	}
}

// Callers that nobody knows can be as many as they like. They leave room for those
// that are known, and no one of these takes all of it.
func TestACrowdLeavesRoomForKnownCallers(t *testing.T) {
	var did deeds
	for explanation, opts := range map[string]mrtr.Options{
		"places": {Limits: mrtr.Limits{MaxFrames: 40}},
		"bytes":  {Limits: mrtr.Limits{MaxFrameBytes: 400_000}},
	} {
		t.Run(explanation, func(t *testing.T) {
			opts.Principal = func(_ context.Context, req mcp.Request) (string, error) {
				who, _, _ := strings.Cut(strings.TrimPrefix(string(req.(*mcp.CallToolRequest).Params.Arguments), `{"who":"`), " ")
				return who, nil
			}
			rt := newTripRuntime(t, &opts)
			tool := newTrip(rt, linear.Coroutine(twoStops(&did)), "")
			begin := func(who string) error {
				return tool.round(t.Context(), who+" "+strings.Repeat("x", 9_000), "", nil).err
			}
			crowd := 0
			for range 100 {
				if begin("") == nil {
					crowd++
				}
			}
			require.InDelta(t, 30, crowd, 4, "three quarters")
			ended(t, begin(""), mrtr.Busy)
			for range 5 {
				require.NoError(t, begin("ann"), "a known caller finds room")
			}
		})
	}
	t.Run("of one principal", func(t *testing.T) {
		rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrameBytes: 100_000}, Principal: byWho})
		tool := newTrip(rt, linear.Coroutine(twoStops(&did)), "")
		ann, bob := strings.Repeat("a", 9_000), strings.Repeat("b", 9_000)
		held := 0
		for range 20 {
			err := tool.round(t.Context(), ann, "", nil).err
			if err == nil {
				held++
				continue
			}
			require.Equal(t, "75000 bytes", ended(t, err, mrtr.Busy).Detail)
		}
		require.Equal(t, 7, held, "three quarters of the bytes: an input of 9,000 bytes weighs an eighth more")
		require.NoError(t, tool.round(t.Context(), bob, "", nil).err)
	})
}

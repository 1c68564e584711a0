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
	require.Equal(t, 8, held)
	require.Greater(t, rt.Stats().HeldBytes, 8*900<<10)
	require.Less(t, rt.Stats().HeldBytes, 8<<20)
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
			require.LessOrEqual(t, rt.Stats().HeldBytes, 40_000)
			for i, reply := range last {
				if i < 4 || name == "resumable" {
					require.NoError(t, reply.err)
					require.True(t, strings.HasSuffix(tool.answer(reply, "y").plan, " y"))
					continue
				}
				busy := ended(t, reply.err, mrtr.Busy)
				require.Equal(t, "40000 bytes", busy.Detail)
				require.NotEmpty(t, effectOf(reply.err), "an effect has run")
			}
		})
	}
}

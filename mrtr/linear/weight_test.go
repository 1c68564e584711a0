package linear_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// The answers that a held handler has are held too. A call whose next answer does
// not fit ends, or goes on without its frame where it can.
func TestFramesWeighTheirAnswers(t *testing.T) {
	for name, style := range map[string]kit.LinearStyle{
		"coroutine": linear.Coroutine[kit.In, kit.Out], "resumable": linear.Resumable[kit.In, kit.Out],
	} {
		t.Run(name, func(t *testing.T) {
			var did kit.Deeds
			rt := kit.TripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrameBytes: 40_000}})
			tool := kit.NewTrip(rt, style(twoStops(&did)), "")
			var last []kit.Reply
			for range 5 {
				first := tool.Begin()
				require.NoError(t, first.Err, "there is room for questions without answers")
				last = append(last, tool.Answer(first, strings.Repeat("x", 9_000)))
			}
			require.LessOrEqual(t, rt.Stats().HeldBytes, 40_000)
			for i, reply := range last {
				if i < 4 || name == "resumable" {
					require.NoError(t, reply.Err)
					require.True(t, strings.HasSuffix(tool.Answer(reply, "y").Plan, " y"))
					continue
				}
				busy := kit.Ended(t, reply.Err, mrtr.Busy)
				require.Equal(t, "40000 bytes", busy.Detail)
				require.NotEmpty(t, kit.EffectOf(reply.Err), "an effect has run")
			}
		})
	}
}

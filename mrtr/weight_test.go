package mrtr_test

import (
	"context"
	"encoding/json"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

type tree struct {
	Name     string    `json:"name"`
	Children []*tree   `json:"children"`
	At       time.Time `json:"at"`
	Parent   *tree     `json:"-"`
}

// An input is weighed as it was decoded. It weighs no less than the memory
// that it takes, and not many times as much.
func TestAnInputWeighsItsMemory(t *testing.T) {
	for explanation, c := range map[string]struct {
		text  string
		check func(t *testing.T, text string)
	}{
		"a long string":     {`{"a":"` + strings.Repeat("x", 50_000) + `"}`, weighs[struct{ A string }]},
		"raw JSON":          {`"` + strings.Repeat("x", 50_000) + `"`, weighs[json.RawMessage]},
		"numbers":           {list(`0.5`, 5000), weighs[any]},
		"empty objects":     {list(`{}`, 5000), weighs[any]},
		"small objects":     {list(`{"":0.5}`, 3000), weighs[any]},
		"objects of ten":    {list(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":"k"}`, 500), weighs[any]},
		"empty lists":       {list(`[]`, 5000), weighs[any]},
		"strings":           {list(`"abcdefghijkl"`, 3000), weighs[[]string]},
		"pointers":          {list(`7`, 5000), weighs[[]*int64]},
		"structs":           {list(`{"name":"x","children":[{"name":"y"}],"at":"2026-07-28T00:00:00Z"}`, 500), weighs[[]tree]},
		"a map of structs":  {`{"a":{"name":"` + strings.Repeat("x", 20_000) + `"}}`, weighs[map[string]tree]},
		"large numbers":     {list(strings.Repeat("7", 3000), 30), weighs[[]*big.Int]},
		"deep in one chain": {strings.Repeat("[", 900) + `"` + strings.Repeat("x", 50_000) + `"` + strings.Repeat("]", 900), weighs[any]},
	} {
		t.Run(explanation, func(t *testing.T) { c.check(t, c.text) })
	}
}

func list(element string, n int) string {
	return "[" + strings.Repeat(element+",", n-1) + element + "]"
}

func weighs[In any](t *testing.T, text string) {
	const copies = 20
	var held [copies]In
	before := heap()
	for i := range held {
		require.NoError(t, json.Unmarshal([]byte(text), &held[i]))
	}
	real := float64(heap()-before) / copies
	weight := float64(mrtr.Weigh(held[0], 1<<30))
	t.Logf("%d bytes of JSON: %.0f bytes of memory, weighed %.0f", len(text), real, weight)
	require.Greater(t, weight, 0.9*real, "weighs too little")
	require.Less(t, weight, 3*real, "weighs too much")
	runtime.KeepAlive(&held)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What leads back up, or to what all calls share, is not weighed.
func TestWeighingEnds(t *testing.T) {
	parent := &tree{Name: "parent"}
	for range 1000 {
		parent.Children = append(parent.Children, &tree{Parent: parent, At: time.Now().In(time.FixedZone("here", 60))})
	}
	require.Less(t, mrtr.Weigh(parent, 1<<30), 200_000)

	type ring struct{ Next *ring }
	var r ring
	r.Next = &r
	require.Less(t, mrtr.Weigh(r, 1<<30), 60_000, "deeper than any JSON is")

	require.Less(t, mrtr.Weigh(make([]any, 1_000_000), 1000), 18_100_000)
	allocations := testing.AllocsPerRun(1, func() {
		many := make(map[string]any)
		for _, key := range strings.Split(strings.Repeat("k,", 100), ",") {
			many[key] = many
		}
		require.Greater(t, mrtr.Weigh(many, 1000), 1000)
	})
	require.Less(t, allocations, 1000.0)
}

// Sixty addresses of 900 KiB are held nowhere, if 8 MiB may be.
func TestFramesOfResourcesWeighTheirAddresses(t *testing.T) {
	rt := newTripRuntime(t, &mrtr.Options{MaxFrameBytes: 8 << 20})
	h := mrtr.Resource(rt, mrtr.Coroutine(func(ctx context.Context, c *mrtr.Call, _ string) (*mcp.ReadResourceResult, error) {
		_, err := mrtr.Ask(ctx, c, text("first"))
		return nil, err
	}), nil)
	held := 0
	for range 60 {
		res, err := h(t.Context(), &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{
			Meta: mcp.Meta{
				mcp.MetaKeyProtocolVersion:    "2026-07-28",
				mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
			},
			URI: "mem://" + strings.Repeat("x", 900<<10),
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
	for name, style := range map[string]func(mrtr.LinearFunc[tripIn, tripOut]) mrtr.Style[tripIn, tripOut]{
		"coroutine": mrtr.Coroutine[tripIn, tripOut], "resumable": mrtr.Resumable[tripIn, tripOut],
	} {
		t.Run(name, func(t *testing.T) {
			var did deeds
			rt := newTripRuntime(t, &mrtr.Options{MaxFrameBytes: 40_000})
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
				var effect interface{ ToolErrorEffect() string }
				require.ErrorAs(t, reply.err, &effect, "an effect has run")
			}
		})
	}
}

// Callers that nobody knows can be as many as they like. They leave room for those
// that are known, and no one of these takes all of it.
func TestACrowdLeavesRoomForKnownCallers(t *testing.T) {
	var did deeds
	for explanation, opts := range map[string]mrtr.Options{
		"places": {MaxFrames: 40},
		"bytes":  {MaxFrameBytes: 400_000},
	} {
		t.Run(explanation, func(t *testing.T) {
			opts.Principal = func(_ context.Context, req mcp.Request) (string, error) {
				who, _, _ := strings.Cut(strings.TrimPrefix(string(req.(*mcp.CallToolRequest).Params.Arguments), `{"who":"`), " ")
				return who, nil
			}
			rt := newTripRuntime(t, &opts)
			tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
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
		rt := newTripRuntime(t, &mrtr.Options{MaxFrameBytes: 100_000, Principal: byWho})
		tool := newTrip(rt, mrtr.Coroutine(twoStops(&did)), "")
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

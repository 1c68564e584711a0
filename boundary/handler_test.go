package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

var flaky = &boundary.Execution{Operation: "fetch", Retryable: true}

type places struct {
	Names []string `json:"names,omitempty"`
}

func TestRetry(t *testing.T) {
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	for _, tc := range []struct {
		explanation string
		annotations *mcp.ToolAnnotations
		err         error
		asks        bool
		state       string
		pause       time.Duration
		want        int
		took        time.Duration
	}{
		{"a read-only tool is run again", readOnly, flaky, false, "", time.Second, 3, 3 * time.Second},
		{"no other is", nil, flaky, false, "", time.Second, 1, 0},
		{"nor after an error that does not ask for it", readOnly, errors.New("no"), false, "", time.Second, 1, 0},
		{"nor after an effect", readOnly, &boundary.Execution{Retryable: true, Effect: "unknown"}, false, "", time.Second, 1, 0},
		{"nor after a question was declined", readOnly, errors.Join(&declined{"units"}, flaky), false, "", time.Second, 1, 0},
		{"nor after a question, which would be asked again", readOnly, flaky, true, "", time.Second, 1, 0},
		{"nor with a state, which the first attempt may have used up", readOnly, flaky, false, "s", time.Second, 1, 0},
		{"nor once the call has ended, for which the pause ends too", readOnly, flaky, false, "", time.Hour, 1, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			ran := 0
			s := newServer()
			mcp.AddTool(s, &mcp.Tool{Name: "t", Annotations: tc.annotations}, boundary.Handler(
				func(ctx context.Context, req *mcp.CallToolRequest, in places) (*mcp.CallToolResult, any, error) {
					ran++
					require.Equal(t, []string{"Lisbon"}, in.Names, "an attempt sees what the one before did to its arguments")
					in.Names[0] = "spoiled"
					if tc.asks {
						_, _ = req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
					}
					return nil, nil, tc.err
				}, &boundary.HandlerOptions{Attempts: 3, Pause: tc.pause}))
			require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent, LegacyDeadline: time.Minute}))
			begun := time.Now()
			res := must(asker(t, s, "2025-11-25").CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"names": []string{"Lisbon"}}, RequestState: tc.state}))(t)
			require.True(t, res.IsError)
			require.Equal(t, tc.want, ran, tc.explanation)
			require.Equal(t, tc.took, time.Since(begun))
		})
	}
}

// A batchItem is what one item of a batch does, and what becomes of it.
type batchItem struct {
	id     string
	err    error
	do     func()
	kind   string // of its error; "" if it succeeds
	fault  string // its cause in the log
	effect string
	hints  []string
}

func drawItem(m *maker, i int) batchItem {
	pay := func(effect string) error {
		return &boundary.Execution{Operation: "pay", Code: "P1", Effect: effect, Err: errors.New("s3cret")}
	}
	item := batchItem{}
	if !m.oneIn(3) {
		item = pick(m,
			batchItem{err: noPlace{}, kind: "not_found", hints: []string{"Use a full name."}},
			batchItem{err: &declined{"units"}, kind: "declined"},
			batchItem{err: errors.New("disk"), kind: "execution", fault: "disk"},
			batchItem{do: func() { panic("s3cret") }, kind: "internal", fault: "panic: s3cret"},
			batchItem{do: runtime.Goexit, kind: "internal", fault: "runtime.Goexit"},
			batchItem{err: pay("applied"), kind: "execution", fault: "s3cret", effect: "applied"},
			batchItem{err: pay("unknown"), kind: "execution", fault: "s3cret", effect: "unknown"})
	}
	item.id = "item " + strconv.Itoa(i)
	return item
}

// isBatch holds that a result has the outcomes of the items, in their order.
func isBatch(t *testing.T, items []batchItem, failed int, res *mcp.CallToolResult) {
	var batch boundary.Batch[string]
	require.NoError(t, json.Unmarshal(must(json.Marshal(res.StructuredContent))(t), &batch))
	require.Equal(t, fmt.Sprintf("%d of %d failed", failed, len(items)), batch.Summary)
	require.Len(t, batch.Items, len(items))
	for i, got := range batch.Items {
		require.Equal(t, items[i].id, got.ID)
		if items[i].kind == "" {
			require.Nil(t, got.Error)
			require.Equal(t, "did "+got.ID, *got.Value)
			continue
		}
		require.Nil(t, got.Value)
		require.Equal(t, items[i].kind, got.Error.Type)
		require.Equal(t, items[i].fault == "", got.Error.Expected)
		require.Equal(t, items[i].hints, got.Error.Hints)
	}
}

// The items of a batch fail alone, by errors, panics and Goexit: the client reads of each what it
// may, and the log has the faults. If all fail they are one error, for which no single item speaks:
// it is expected if all are, and tells the worst effect.
func TestABatchOfAnything(t *testing.T) {
	var log journal
	var items []batchItem
	var parallel int
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "t", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, boundary.Batch[string], error) {
		batch, err := boundary.Each(ctx, items, func(i batchItem) string { return i.id }, func(_ context.Context, i batchItem) (string, error) {
			if i.do != nil {
				i.do()
			}
			return "did " + i.id, i.err
		}, &boundary.BatchOptions{Parallel: parallel})
		return nil, batch, err
	})
	session := connect(t, s, &boundary.Options{Logger: log.logger()})
	failures := 0
	for seed := range uint64(150) {
		m := newMaker(seed, nil)
		parallel, items = m.IntN(4), nil
		failed, faults, worst := 0, 0, ""
		var hints []string
		for i := range m.IntN(pick(m, 3, 6)) {
			item := drawItem(m, i)
			items = append(items, item)
			if item.kind == "" {
				continue
			}
			failed++
			if item.fault != "" {
				faults++
			}
			if item.effect == "unknown" || worst == "" {
				worst = item.effect
			}
			hints = slices.Compact(append(hints, item.hints...))
		}
		res, report := callTool(t, session, "t", nil)
		require.NotContains(t, string(must(json.Marshal(res))(t)), "s3cret", "seed %d", seed)
		records := log.take(t)
		require.Len(t, records, faults+1, "one for each fault, and one for the call")
		for i, item := range items {
			if item.fault != "" {
				r := records[0]
				require.Equal(t, []any{"ERROR", float64(i), report.RequestID, item.do != nil}, []any{r["level"], r["item"], r["requestId"], r["stack"] != nil})
				require.Contains(t, r["cause"], item.fault)
				records = records[1:]
			}
		}
		if failed < len(items) || failed == 0 {
			isBatch(t, items, failed, res)
			continue
		}
		failures++
		want := boundary.Report{Tool: "t", RequestID: report.RequestID, DurationMS: report.DurationMS, Type: "batch", Expected: ref(faults == 0), Effect: worst, Hints: hints}
		require.Equal(t, want, report, "seed %d", seed)
		require.Regexp(t, fmt.Sprintf("^All %d items failed.\nitem 0: ", failed), texts(res)[0])
	}
	require.Greater(t, failures, 10)
}

// As many items run at once as Parallel says, and no more. Outside a boundary a batch is the same.
func TestBatchRunsItemsInParallel(t *testing.T) {
	name := func(n int) string { return "item " + strconv.Itoa(n) }
	for _, parallel := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			_, err := boundary.Each(t.Context(), make([]int, 9), name, func(context.Context, int) (int, error) {
				time.Sleep(time.Minute)
				return 0, nil
			}, &boundary.BatchOptions{Parallel: parallel})
			require.NoError(t, err)
			require.Equal(t, time.Duration(9/parallel)*time.Minute, time.Since(begun))
		})
	}
	fail := func(context.Context, int) (int, error) { return 0, noPlace{} }
	_, err := boundary.Each(t.Context(), []int{1}, name, fail, &boundary.BatchOptions{Parallel: -1})
	var misuse *boundary.UsageError
	require.ErrorAs(t, err, &misuse)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = boundary.Each(ended, []int{1}, name, fail, nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = boundary.Each(t.Context(), make([]int, 100), name, fail, nil)
	require.ErrorIs(t, err, noPlace{})
	require.ErrorContains(t, err, "and 90 more.")
	require.Less(t, len(err.Error()), 1000)
	_, err = boundary.Each(t.Context(), make([]int, 10), name, fail, nil)
	require.NotContains(t, err.Error(), "more.")
}

package boundary_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

func odd(_ context.Context, n int) (int, error) {
	if n%2 == 0 {
		return 0, noPlace{}
	}
	return n * 10, nil
}

func name(n int) string { return "item " + strconv.Itoa(n) }

func TestBatch(t *testing.T) {
	for _, opts := range []*boundary.BatchOptions{nil, {}, {Parallel: 2}, {Parallel: 50}} {
		batch, err := boundary.Each(t.Context(), []int{1, 2, 3, 4, 5}, name, odd, opts)
		require.NoError(t, err, "partial success is not an error")
		require.Equal(t, "2 of 5 failed", batch.Summary)
		require.Len(t, batch.Items, 5)
		for i, item := range batch.Items {
			require.Equal(t, name(i+1), item.ID, "in the order of the items")
			if (i+1)%2 == 0 {
				require.Nil(t, item.Value)
				require.Equal(t, "not_found", item.Error.Type)
				require.True(t, item.Error.Expected)
				continue
			}
			require.Nil(t, item.Error)
			require.Equal(t, (i+1)*10, *item.Value)
		}

		_, err = boundary.Each(t.Context(), []int{2, 4}, name, odd, opts)
		var all *boundary.BatchError
		require.ErrorAs(t, err, &all)
		require.True(t, all.ToolErrorExpected())
		require.ErrorIs(t, err, noPlace{})
		require.Equal(t, "All 2 items failed.\nitem 2: There is no such place.\nitem 4: There is no such place.", err.Error())
		require.Equal(t, []string{"Use a full name."}, all.ToolErrorHints())

		none, err := boundary.Each(t.Context(), nil, name, odd, opts)
		require.NoError(t, err)
		require.Equal(t, "0 of 0 failed", none.Summary)

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = boundary.Each(ended, []int{1}, name, odd, opts)
		require.ErrorIs(t, err, context.Canceled)
	}
	_, err := boundary.Each(t.Context(), []int{1}, name, odd, &boundary.BatchOptions{Parallel: -1})
	var misuse *boundary.UsageError
	require.ErrorAs(t, err, &misuse)
}

func TestABatchOfManyFailuresIsShort(t *testing.T) {
	_, err := boundary.Each(t.Context(), make([]int, 100), name, odd, nil)
	require.ErrorContains(t, err, "and 90 more.")
	require.Less(t, len(err.Error()), 1000)
}

// As many items run at once as Parallel says, and no more.
func TestBatchRunsItemsInParallel(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int64
			begun := time.Now()
			_, err := boundary.Each(t.Context(), make([]int, 9), name, func(context.Context, int) (int, error) {
				now := running.Add(1)
				defer running.Add(-1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				time.Sleep(time.Minute)
				return 0, nil
			}, &boundary.BatchOptions{Parallel: parallel})
			require.NoError(t, err)
			require.EqualValues(t, parallel, most.Load())
			require.Equal(t, time.Duration(9/parallel)*time.Minute, time.Since(begun))
		})
	}
}

// A panic fails its item, tells the client nothing of itself, and is in the log.
func TestAnItemThatPanicsFailsAlone(t *testing.T) {
	var log journal
	s := newServer()
	var done sync.Map
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, boundary.Batch[int], error) {
		batch, err := boundary.Each(ctx, []int{0, 1, 2, 3}, name, func(_ context.Context, n int) (int, error) {
			switch n {
			case 1:
				panic("hunter2")
			case 2:
				runtime.Goexit()
			case 3:
				return 0, &boundary.Execution{Operation: "look up", Err: errors.New("hunter2 too")}
			}
			done.Store(n, true)
			return n, nil
		}, &boundary.BatchOptions{Parallel: 4})
		return nil, batch, err
	})
	res, _ := callTool(t, connect(t, s, &boundary.Options{Logger: log.logger()}), "t", nil)
	require.False(t, res.IsError, texts(res))
	require.NotContains(t, texts(res)[0], "hunter2")
	require.Contains(t, texts(res)[0], "3 of 4 failed")
	_, ran := done.Load(0)
	require.True(t, ran)

	records := log.records(t)
	require.Len(t, records, 4, "one for each fault, and one for the call")
	for i, cause := range []string{"panic: hunter2", "runtime.Goexit", "hunter2 too"} {
		require.Equal(t, "ERROR", records[i]["level"])
		require.EqualValues(t, i+1, records[i]["item"])
		require.Contains(t, records[i]["cause"], cause)
		require.Equal(t, records[3]["requestId"], records[i]["requestId"])
	}
}

// A batch that fails is one error. No item speaks for the others.
func TestABatchThatFailsIsOneError(t *testing.T) {
	applied := &boundary.Execution{Operation: "pay", Code: "P1", Effect: "applied"}
	unknown := &boundary.Execution{Operation: "pay", Effect: "unknown"}
	for _, tc := range []struct {
		explanation string
		errs        []error
		expected    bool
		level       string
		effect      string
	}{
		{"what the agent can correct", []error{noPlace{}, noPlace{}}, true, "WARN", ""},
		{"a fault among them", []error{noPlace{}, errors.New("disk")}, false, "ERROR", ""},
		{"a decline does not make the others quiet", []error{&declined{"units"}, errors.New("disk")}, false, "ERROR", ""},
		{"an effect is told", []error{noPlace{}, applied}, false, "ERROR", "applied"},
		{"the worst effect counts", []error{applied, unknown, applied}, false, "ERROR", "unknown"},
	} {
		var log journal
		s := newServer()
		mcp.AddTool(s, &mcp.Tool{Name: "t", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: tc.effect == ""}}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
			_, err := boundary.Each(ctx, tc.errs, error.Error, func(_ context.Context, err error) (int, error) { return 0, err }, nil)
			return nil, nil, err
		})
		_, report := callTool(t, connect(t, s, &boundary.Options{Logger: log.logger()}), "t", nil)
		require.Equal(t, "batch", report.Type)
		require.Equal(t, tc.expected, *report.Expected, tc.explanation)
		require.Equal(t, tc.effect, report.Effect, tc.explanation)
		require.Empty(t, report.Code)
		require.Empty(t, report.Operation)
		require.Empty(t, report.Selector)
		require.Empty(t, report.Candidates)
		require.Empty(t, report.Fields)
		records := log.records(t)
		require.Equal(t, tc.level, records[len(records)-1]["level"], tc.explanation)
	}
}

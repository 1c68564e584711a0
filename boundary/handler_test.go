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
		want        int
	}{
		{"a read-only tool is run again", readOnly, flaky, false, 3},
		{"no other is", nil, flaky, false, 1},
		{"nor after an error that does not ask for it", readOnly, errors.New("no"), false, 1},
		{"nor after an effect", readOnly, &boundary.Execution{Retryable: true, Effect: "unknown"}, false, 1},
		{"nor after a question was declined", readOnly, errors.Join(&declined{"units"}, flaky), false, 1},
		{"nor after a question, which would be asked again", readOnly, flaky, true, 1},
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
				}, &boundary.HandlerOptions{Attempts: 3, Pause: time.Second}))
			require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
			session := dialAs(t, s, "c", "2025-11-25", &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "decline"}, nil
				}})
			begun := time.Now()
			res, _ := callTool(t, session, "t", map[string]any{"names": []string{"Lisbon"}})
			require.True(t, res.IsError)
			require.Equal(t, tc.want, ran, tc.explanation)
			require.Equal(t, time.Duration(1<<(tc.want-1)-1)*time.Second, time.Since(begun))
		})
	}
}

// A requestState may be used up by the first attempt. The error of a second attempt
// would replace the tool's own.
func TestNoRetryWithAState(t *testing.T) {
	parked := true
	s := newServer()
	mcp.AddTool(s, &mcp.Tool{Name: "t", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, boundary.Handler(
		func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			if !parked {
				return nil, nil, errors.New("gone")
			}
			parked = false
			return nil, nil, flaky
		}, &boundary.HandlerOptions{Attempts: 3}))
	require.NoError(t, boundary.Install(s, &boundary.Options{Logger: silent}))
	res := must(asker(t, s, "2026-07-28").CallTool(t.Context(), &mcp.CallToolParams{Name: "t", RequestState: "s"}))(t)
	require.True(t, res.IsError)
	require.Equal(t, []string{flaky.Error()}, texts(res))
}

type reading struct {
	Celsius any `json:"celsius"`
}

// Handler distinguishes a broken output from the tool's own errors.
func TestHandlerChecksTheOutput(t *testing.T) {
	var log journal
	s := newServer()
	for name, celsiusOf := range map[string]any{"good": 3, "wrong": "warm", "func": func() {}} {
		mcp.AddTool(s, &mcp.Tool{Name: name, OutputSchema: celsius}, boundary.Handler(
			func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, reading, error) {
				return nil, reading{celsiusOf}, nil
			}, nil))
	}
	session := connect(t, s, &boundary.Options{Logger: log.logger()})
	res, _ := callTool(t, session, "good", nil)
	require.False(t, res.IsError)
	for _, name := range []string{"wrong", "func"} {
		res, report := callTool(t, session, name, nil)
		require.True(t, res.IsError)
		require.Equal(t, "invalid_output", report.Type)
		require.Equal(t, "applied", report.Effect)
		require.NotContains(t, texts(res)[0], "warm")
	}
	require.Contains(t, log.records(t)[1]["cause"], "celsius")
}

// Without Install, Handler only calls the function.
func TestHandlerWithoutBoundary(t *testing.T) {
	ran := 0
	h := boundary.Handler(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		ran++
		return nil, nil, flaky
	}, &boundary.HandlerOptions{Attempts: 3})
	_, _, err := h(t.Context(), nil, input{})
	require.Equal(t, flaky, err)
	require.Equal(t, 1, ran)
}

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

		none := must(boundary.Each(t.Context(), nil, name, odd, opts))(t)
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

// A panic fails its item, shows the client nothing of itself, and is in the log.
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

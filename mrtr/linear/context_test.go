package linear_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

type roundKey struct{}

// A held handler's context goes with the round that runs: its values, and its
// end. Of the round before there is nothing left, its deadline least of all.
func TestLinearContextGoesWithTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type inner struct{}
		var handlerCtx context.Context
		tool := kit.ServeTrip(t, linear.Coroutine(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			handlerCtx = context.WithValue(s.Ctx, inner{}, "the handler's own")
			values := make([]any, 0, 3)
			for _, key := range []string{"first", "second", "third"} {
				values = append(values, s.Ctx.Value(roundKey{}))
				_, deadline := s.Ctx.Deadline()
				require.False(t, deadline)
				require.NoError(t, s.Ctx.Err())
				kit.Ask(s, kit.Text(key))
			}
			require.Equal(t, []any{1, 2, 3}, values)
			require.Equal(t, 4, s.Ctx.Value(roundKey{}))
			return kit.Out{Plan: handlerCtx.Value(inner{}).(string)}, nil
		})))
		var reply kit.Reply
		for n := 1; n <= 4; n++ {
			ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), roundKey{}, n), time.Second)
			reply = tool.Round(ctx, "", reply.State, kit.Accepting(reply, "x"))
			require.NoError(t, reply.Err)
			cancel()
			time.Sleep(time.Minute) // far beyond the deadline of the round
			if n < 4 {
				require.NoError(t, handlerCtx.Err(), "the context outlives round %d", n)
			}
		}
		require.Equal(t, "the handler's own", reply.Plan)
		synctest.Wait()
		require.ErrorIs(t, handlerCtx.Err(), context.Canceled, "the context ends with the handler")
	})
}

func TestLinearContextIsCancelled(t *testing.T) {
	kit.Differs(t, "a client that hangs up does not end its round, see TestHangUpDuringWork")
	tests := map[string]struct {
		explanation string
		cancel      func(t *testing.T, rt *mrtr.Runtime, tool *kit.Trip, asked kit.Reply)
		cause       error
	}{
		"by the request of the current round": {
			explanation: "the user of a later round gave up",
			cancel: func(t *testing.T, _ *mrtr.Runtime, tool *kit.Trip, asked kit.Reply) {
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					time.Sleep(time.Second)
					cancel()
				}()
				require.ErrorIs(t, tool.Round(ctx, "", asked.State, kit.Accepting(asked, "x")).Err, context.Canceled)
			},
			cause: context.Canceled,
		},
		"by eviction": {
			explanation: "nobody answered for as long as a frame is kept",
			cancel: func(*testing.T, *mrtr.Runtime, *kit.Trip, kit.Reply) {
				time.Sleep(time.Hour)
			},
			cause: context.DeadlineExceeded,
		},
		"by Close": {
			explanation: "while it is parked",
			cancel: func(t *testing.T, rt *mrtr.Runtime, _ *kit.Trip, _ kit.Reply) {
				require.NoError(t, rt.Close())
			},
			cause: &mrtr.Error{Reason: mrtr.ShuttingDown},
		},
		"by Close, in a round": {
			explanation: "while it runs: the round that waits for it ends in an error, never in an empty result",
			cancel: func(t *testing.T, rt *mrtr.Runtime, tool *kit.Trip, asked kit.Reply) {
				go func() {
					time.Sleep(time.Second)
					_ = rt.Close()
				}()
				reply := tool.Round(t.Context(), "", asked.State, kit.Accepting(asked, "x"))
				require.Equal(t, &mrtr.Error{Reason: mrtr.ShuttingDown}, reply.Err)
			},
			cause: &mrtr.Error{Reason: mrtr.ShuttingDown},
		},
		"by a decline": {
			explanation: "the call has ended",
			cancel: func(t *testing.T, _ *mrtr.Runtime, tool *kit.Trip, asked kit.Reply) {
				require.Error(t, tool.Round(t.Context(), "", asked.State, kit.Declining(asked)).Err)
			},
			cause: context.Canceled,
		},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		kit.InBubble(t, name, func(t *testing.T) {
			var cause error
			rt := kit.TripRuntime(t, nil)
			tool := kit.NewTrip(rt, linear.Coroutine(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				defer func() { cause = context.Cause(s.Ctx) }()
				kit.Ask(s, kit.Text("first"))
				<-s.Ctx.Done()
				return kit.Out{}, s.Ctx.Err()
			})), "")
			asked := tool.Begin()
			require.NoError(t, asked.Err)
			test.cancel(t, rt, tool, asked)
			synctest.Wait()
			require.Equal(t, test.cause, cause, test.explanation)
		})
	}
}

// Over HTTP a notification finds its stream through the context's values. The
// stream of round one is closed when round two runs.
func TestLinearProgressReachesTheCurrentRound(t *testing.T) {
	rt := kit.TripRuntime(t, nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "trips", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "trip"}, mrtr.Tool(rt, linear.Coroutine(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Ask(s, kit.Text("first"))
		token := s.Call.Request().(*mcp.CallToolRequest).Params.GetProgressToken()
		err := s.Call.Session().NotifyProgress(s.Ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "half way"})
		return kit.Out{Plan: "done"}, err
	})), nil))
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer web.Close()

	progress := make(chan string, 8)
	client := mcp.NewClient(&mcp.Implementation{Name: "traveller", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return kit.Accept("first", "x"), nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress <- r.Params.Message
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL}, nil)
	require.NoError(t, err)
	defer session.Close()
	params := &mcp.CallToolParams{Name: "trip", Arguments: kit.In{}}
	params.SetProgressToken("token")
	res, err := session.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.False(t, res.IsError, "%v", res.Content)
	select {
	case message := <-progress:
		require.Equal(t, "half way", message)
	case <-time.After(30 * time.Second):
		t.Fatal("the progress of round two went to nobody")
	}
}

// The context of a linear handler tells why its call was cut off, as that of any other handler
// does. What a transport says there is for its own tests.
func TestALinearHandlerLearnsWhyItsCallEnds(t *testing.T) {
	kit.EachLinear(t, func(t *testing.T, style kit.LinearStyle) {
		gone := errors.New("the line was cut")
		ctx, cut := context.WithCancelCause(t.Context())
		var cause error
		tool := kit.ServeTrip(t, style(func(ctx context.Context, _ *mrtr.Call, _ kit.In) (kit.Out, error) {
			cut(gone)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return kit.Out{}, ctx.Err()
		}))
		require.Error(t, tool.Round(ctx, "", "", nil).Err)
		require.NoError(t, tool.Runtime.Close())
		require.Equal(t, gone, cause)
	})
}

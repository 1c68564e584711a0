package mrtr_test

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
	"github.com/mrtr-go/sdk/mrtr/linear"
)

type roundKey struct{}

// A held handler's context goes with the round that runs: its values, and its
// end. Of the round before there is nothing left, its deadline least of all.
func TestLinearContextGoesWithTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type inner struct{}
		var handlerCtx context.Context
		tool := serveTrip(t, linear.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
			handlerCtx = context.WithValue(s.ctx, inner{}, "the handler's own")
			values := make([]any, 0, 3)
			for _, key := range []string{"first", "second", "third"} {
				values = append(values, s.ctx.Value(roundKey{}))
				_, deadline := s.ctx.Deadline()
				require.False(t, deadline)
				require.NoError(t, s.ctx.Err())
				ask(s, text(key))
			}
			require.Equal(t, []any{1, 2, 3}, values)
			require.Equal(t, 4, s.ctx.Value(roundKey{}))
			return tripOut{Plan: handlerCtx.Value(inner{}).(string)}, nil
		})))
		var reply tripReply
		for n := 1; n <= 4; n++ {
			ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), roundKey{}, n), time.Second)
			reply = tool.round(ctx, "", reply.state, accepting(reply, "x"))
			require.NoError(t, reply.err)
			cancel()
			time.Sleep(time.Minute) // far beyond the deadline of the round
			if n < 4 {
				require.NoError(t, handlerCtx.Err(), "the context outlives round %d", n)
			}
		}
		require.Equal(t, "the handler's own", reply.plan)
		synctest.Wait()
		require.ErrorIs(t, handlerCtx.Err(), context.Canceled, "the context ends with the handler")
	})
}

func TestLinearContextIsCancelled(t *testing.T) {
	tests := map[string]struct {
		explanation string
		cancel      func(t *testing.T, rt *mrtr.Runtime, tool *tripTool, asked tripReply)
		cause       error
	}{
		"by the request of the current round": {
			explanation: "the user of a later round gave up",
			cancel: func(t *testing.T, _ *mrtr.Runtime, tool *tripTool, asked tripReply) {
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					time.Sleep(time.Second)
					cancel()
				}()
				require.ErrorIs(t, tool.round(ctx, "", asked.state, accepting(asked, "x")).err, context.Canceled)
			},
			cause: context.Canceled,
		},
		"by eviction": {
			explanation: "nobody answered for as long as a frame is kept",
			cancel: func(*testing.T, *mrtr.Runtime, *tripTool, tripReply) {
				time.Sleep(time.Hour)
			},
			cause: context.DeadlineExceeded,
		},
		"by Close": {
			explanation: "while it is parked",
			cancel: func(t *testing.T, rt *mrtr.Runtime, _ *tripTool, _ tripReply) {
				require.NoError(t, rt.Close())
			},
			cause: &mrtr.Error{Reason: mrtr.ShuttingDown},
		},
		"by Close, in a round": {
			explanation: "while it runs: the round that waits for it ends in an error, never in an empty result",
			cancel: func(t *testing.T, rt *mrtr.Runtime, tool *tripTool, asked tripReply) {
				go func() {
					time.Sleep(time.Second)
					_ = rt.Close()
				}()
				reply := tool.round(t.Context(), "", asked.state, accepting(asked, "x"))
				require.Equal(t, &mrtr.Error{Reason: mrtr.ShuttingDown}, reply.err)
			},
			cause: &mrtr.Error{Reason: mrtr.ShuttingDown},
		},
		"by a decline": {
			explanation: "the call has ended",
			cancel: func(t *testing.T, _ *mrtr.Runtime, tool *tripTool, asked tripReply) {
				require.Error(t, tool.round(t.Context(), "", asked.state, declining(asked)).err)
			},
			cause: context.Canceled,
		},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		inBubble(t, name, func(t *testing.T) {
			var cause error
			rt := newTripRuntime(t, nil)
			tool := newTrip(rt, linear.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
				defer func() { cause = context.Cause(s.ctx) }()
				ask(s, text("first"))
				<-s.ctx.Done()
				return tripOut{}, s.ctx.Err()
			})), "")
			asked := tool.begin()
			require.NoError(t, asked.err)
			test.cancel(t, rt, tool, asked)
			synctest.Wait()
			require.Equal(t, test.cause, cause, test.explanation)
		})
	}
}

// Over HTTP a notification finds its stream through the context's values. The
// stream of round one is closed when round two runs.
func TestLinearProgressReachesTheCurrentRound(t *testing.T) {
	rt := newTripRuntime(t, nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "trips", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "trip"}, mrtr.Tool(rt, linear.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
		ask(s, text("first"))
		token := s.Call.Request().(*mcp.CallToolRequest).Params.GetProgressToken()
		err := s.Call.Session().NotifyProgress(s.ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "half way"})
		return tripOut{Plan: "done"}, err
	})), nil))
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer web.Close()

	progress := make(chan string, 8)
	client := mcp.NewClient(&mcp.Implementation{Name: "traveller", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return accept("first", "x"), nil },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress <- r.Params.Message
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL}, nil)
	require.NoError(t, err)
	defer session.Close()
	params := &mcp.CallToolParams{Name: "trip", Arguments: tripIn{}}
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
	eachLinear(t, func(t *testing.T, style linearStyle) {
		gone := errors.New("the line was cut")
		ctx, cut := context.WithCancelCause(t.Context())
		var cause error
		tool := serveTrip(t, style(func(ctx context.Context, _ *mrtr.Call, _ tripIn) (tripOut, error) {
			cut(gone)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return tripOut{}, ctx.Err()
		}))
		require.Error(t, tool.round(ctx, "", "", nil).err)
		require.NoError(t, tool.rt.Close())
		require.Equal(t, gone, cause)
	})
}

package internal_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/sighting"
	"github.com/mrtr-go/sdk/internal/wire"
)

type nothing struct{}

// heard runs one call of a handler and returns the progress that its client hears of.
func heard(t *testing.T, token any, handler func(ctx context.Context, session *mcp.ServerSession, tell func(v float64))) []float64 {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "t"}, func(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		handler(ctx, req.Session, func(v float64) {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: v})
		})
		return nil, nil, nil
	})
	rendezvous.OrderProgress(server)
	rendezvous.OrderProgress(server)
	var mu sync.Mutex
	var values []float64
	there, here := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	ended := make(chan struct{})
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			if req.Params.ProgressToken == "the end" {
				close(ended)
				return
			}
			values = append(values, req.Params.Progress)
		},
	}).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	defer client.Close()
	for range 2 { // each call begins anew
		params := &mcp.CallToolParams{Name: "t"}
		params.SetProgressToken(token)
		res, err := client.CallTool(t.Context(), params)
		require.NoError(t, err)
		require.False(t, res.IsError)
	}
	for session := range server.Sessions() {
		require.NoError(t, session.NotifyProgress(t.Context(), &mcp.ProgressNotificationParams{ProgressToken: "the end"}))
	}
	<-ended
	mu.Lock()
	defer mu.Unlock()
	require.Zero(t, len(values)%2)
	require.Equal(t, values[:len(values)/2], values[len(values)/2:])
	return values[:len(values)/2]
}

func TestProgressOnlyEverIncreases(t *testing.T) {
	beat := math.NaN()
	cases := []struct {
		explanation string
		told        []float64 // NaN is a heartbeat
		heard       []float64
	}{
		{"as it is", []float64{0, 0.5, 1, 7}, []float64{0, 0.5, 1, 7}},
		{"the same again", []float64{1, 1, 2, 2, 2, 3}, []float64{1, 2, 3}},
		{"from the start again", []float64{1, 2, 1, 2, 3}, []float64{1, 2, 3}},
		{"a heartbeat after the handler's", []float64{1, beat, beat, 2}, []float64{1, 1.001, 1.0019999999999998, 2}},
		{"a heartbeat first", []float64{beat, beat, 1}, []float64{0, 0.001, 1}},
		{"a heartbeat after a number that has no thousandths", []float64{1e300, beat}, []float64{1e300, math.Nextafter(1e300, math.Inf(1))}},
		{"nothing is more", []float64{math.MaxFloat64, beat, beat}, []float64{math.MaxFloat64}},
		{"below zero", []float64{-5, beat, -6, -4}, []float64{-5, -4.999, -4}},
	}
	for _, c := range cases {
		for _, token := range []any{"text", 7} {
			t.Run(c.explanation, func(t *testing.T) {
				require.Equal(t, c.heard, heard(t, token, func(ctx context.Context, session *mcp.ServerSession, tell func(float64)) {
					for _, v := range c.told {
						if math.IsNaN(v) {
							_ = session.NotifyProgress(rendezvous.Heartbeat(ctx), &mcp.ProgressNotificationParams{ProgressToken: token})
							continue
						}
						tell(v)
					}
				}))
			})
		}
	}
}

// Goroutines that tell at the same time do not overtake each other.
func TestProgressThatIsToldAtOnce(t *testing.T) {
	for range 20 {
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "t"}, func(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)})
				})
			}
			all.Wait()
			return nil, nil, nil
		})
		rendezvous.OrderProgress(server)
		there, here := mcp.NewInMemoryTransports()
		_, err := server.Connect(t.Context(), there, nil)
		require.NoError(t, err)
		last := -1.0
		client, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				if req.Params.Progress <= last {
					t.Errorf("%v after %v", req.Params.Progress, last)
				}
				last = req.Params.Progress
			},
		}).Connect(t.Context(), here, nil)
		require.NoError(t, err)
		params := &mcp.CallToolParams{Name: "t"}
		params.SetProgressToken("x")
		_, err = client.CallTool(t.Context(), params)
		require.NoError(t, err)
		require.NoError(t, client.Close())
	}
}

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "unbound"}, nil)
}

func done(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

func tool(schema any) *mcp.Tool { return &mcp.Tool{Name: "pay", InputSchema: schema} }

// object is a schema of objects with one more member, as JSON.
func object(member string) any { return jsonText(`{"type":"object",` + member + `}`) }

// jsonText is JSON that is written as it stands.
type jsonText string

func (t jsonText) MarshalJSON() ([]byte, error) { return []byte(t), nil }

func of(s *mcp.Server) *rendezvous.UnboundTool { return rendezvous.UnboundToolOf(weak.Make(s), "pay") }

func TestAToolThatBindsAnArgumentIsNotKnown(t *testing.T) {
	for member, known := range map[string]bool{
		`"properties":{"to":{"type":"string"}}`:                                                         true,
		`"description":"x-mcp-header"`:                                                                  true,
		`"properties":{"to":{"type":"string","x-mcp-header":"To"}}`:                                     false,
		`"properties":{"to":{"type":"string","x-mcp-\u0068eader":"To"}}`:                                false,
		`"properties":{"to":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"X"}}}}`: false,
		`"allOf":[{"properties":{"to":{"type":"string"}}},{"a":[{"x-mcp-header":"To"}]}]`:               false,
		`"$defs":{"to":{"x-mcp-header":"To"}},"properties":{"to":{"$ref":"#/$defs/to"}}`:                false,
		`"properties":{"x-mcp-header":{"type":"string"}}`:                                               false, // an argument of that name: too careful
		`"properties":{"to":{"type":"string","X-Mcp-Header":"To"}}`:                                     true,
		`"properties":{"to":{"type":"string","description":"\"x-mcp-header\": \"To\""}}`:                true,
		`"additionalProperties":{"type":"string","x-mcp-header":"To"},"title":"a b c d e f"`:            false,
	} {
		s := newServer()
		rendezvous.AddTool(s, tool(object(member)), done)
		require.Equal(t, known, of(s) != nil, member)
		require.Nil(t, rendezvous.UnboundToolOf(weak.Make(s), "other"))
		require.Nil(t, of(newServer()), "a tool belongs to its server")
	}
}

func TestAToolTakesTheNameOfAnother(t *testing.T) {
	plain, bound := object(`"title":"plain"`), object(`"properties":{"to":{"type":"string","x-mcp-header":"To"}}`)
	s := newServer()
	rendezvous.AddTool(s, tool(plain), done)
	first := of(s)
	rendezvous.AddTool(s, tool(plain), done)
	require.NotNil(t, of(s))
	require.NotSame(t, first, of(s))
	rendezvous.AddTool(s, tool(bound), done)
	require.Nil(t, of(s))
	rendezvous.AddTool(s, tool(plain), done)
	require.NotNil(t, of(s))
	require.Panics(t, func() { rendezvous.AddTool(s, tool(jsonText(`{"type":"string"}`)), done) })
	require.Nil(t, of(s), "a tool that go-sdk does not take is not known")
}

// seen is the tool that a call entered.
type seen struct{ tool *rendezvous.UnboundTool }

func (s *seen) Enter(t *rendezvous.UnboundTool) { s.tool = t }

func TestAToolThatWasMissedIsKnownAgainOnceItIsEntered(t *testing.T) {
	s := newServer()
	rendezvous.AddTool(s, tool(object(`"title":"plain"`)), done)
	known := of(s)
	var visit seen
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(context.WithValue(ctx, rendezvous.VisitKey{}, &visit), method, req)
		}
	})
	known.Missed()
	require.Nil(t, of(s))
	client, err := wire.Connect(t.Context(), s, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	_, err = client.Send(t.Context(), wire.Request{Name: "pay"})
	require.NoError(t, err)
	require.Same(t, known, of(s))
	require.Same(t, known, visit.tool)
}

func TestAToolIsForgottenWithItsServer(t *testing.T) {
	s := newServer()
	rendezvous.AddTool(s, tool(object(`"title":"plain"`)), done)
	gone := weak.Make(s)
	require.NotNil(t, rendezvous.UnboundToolOf(gone, "pay"))
	runtime.KeepAlive(s)
	s = nil
	require.Eventually(t, func() bool {
		runtime.GC()
		return rendezvous.UnboundToolOf(gone, "pay") == nil
	}, time.Minute, time.Millisecond)
}

func TestSilenceIsCountedFromTheLastNewRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l sighting.Log[string, uint64]
		began := l.Note("a", 7)
		time.Sleep(time.Second)
		require.Equal(t, began, l.Note("a", 7))
		require.Equal(t, began, l.Note("a", 6), "a read that lags")
		require.Equal(t, began.Add(time.Second), l.Note("a", 8))
		require.Equal(t, began.Add(time.Second), l.Note("b", 1))
	})
}

// However many records are watched, the memory for it is bounded: most are forgotten, and
// counted anew.
func TestSightingsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l sighting.Log[int, uint64]
		began := time.Now()
		for i := range 3 * sighting.Max {
			l.Note(i, 1)
		}
		time.Sleep(time.Second)
		known := 0
		for i := range 3 * sighting.Max {
			if l.Note(i, 1).Equal(began) {
				known++
			}
		}
		require.LessOrEqual(t, known, sighting.Max)
		require.NotZero(t, known)
	})
}

package load_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// A stand is the server under load, on both transports.
type stand struct {
	http, ws string // addresses
	stop     func(ctx context.Context) error

	mu     sync.Mutex
	audits map[string]int // effects, by who called
}

func (s *stand) audited(who string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.audits[who]
}

type journey struct {
	Who string `json:"who"`
}

type ticket struct {
	Place string `json:"place"`
	By    string `json:"by"`
}

var (
	place = mrtr.Choose("place", "Where to?", mrtr.Choices("Lisbon", "Rome")...)
	by    = mrtr.Choose("by", "How?", mrtr.Choices("train", "ship")...)
)

// trip asks twice and then has its effect.
func (s *stand) trip(_ context.Context, c *mrtr.Call, in journey) (*mrtr.IncompleteResult, ticket, error) {
	where, ok := mrtr.Answer(c, place)
	if !ok {
		return mrtr.Need(place), ticket{}, nil
	}
	how, ok := mrtr.Answer(c, by)
	if !ok {
		return mrtr.Need(by), ticket{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audits[in.Who]++
	return nil, ticket{where, how}, nil
}

// startServer serves three tools: trip, one with a large result, and one that
// waits for its context.
func startServer(t *testing.T) *stand {
	s := &stand{audits: map[string]int{}}
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	server := mcp.NewServer(&mcp.Implementation{Name: "load", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "trip"}, mrtr.Tool(rt, mrtr.Native(s.trip), nil))
	text := strings.Repeat("x", 256<<10)
	mrtr.AddTool(server, &mcp.Tool{Name: "large"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	mrtr.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil, nil
	})
	require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
	of := func(*http.Request) *mcp.Server { return server }
	overHTTP, err := mcphttp.NewHandler(of, nil)
	require.NoError(t, err)
	overWS, err := wstransport.NewHandler(of, nil)
	require.NoError(t, err)

	mux := http.NewServeMux()
	mux.Handle("/mcp", overHTTP)
	mux.Handle("/ws", overWS)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = web.Serve(listener) }()
	address := listener.Addr().String()
	s.http, s.ws = "http://"+address+"/mcp", "ws://"+address+"/ws"
	s.stop = func(ctx context.Context) error {
		for _, stop := range []func(context.Context) error{overHTTP.Shutdown, overWS.Shutdown, web.Shutdown} {
			if err := stop(ctx); err != nil {
				_ = web.Close()
				return err
			}
		}
		return rt.Close()
	}
	return s
}

package load_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/serve"
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

// startServer serves three tools, as the README serves one: trip, one with a large result, and
// one that waits for its context.
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
	overWS, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	require.NoError(t, err)

	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	listening, served := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		served <- serve.HTTP(ctx, "127.0.0.1:0", server, &serve.Options{
			Runtime: rt, Endpoints: map[string]serve.Endpoint{"/ws": overWS},
			Logger: slog.New(slog.DiscardHandler), Listening: func(at net.Addr) { listening <- at },
		})
	}()
	var address net.Addr
	select {
	case address = <-listening:
	case err := <-served:
		require.NoError(t, err, "the server did not listen")
	}
	s.http, s.ws = fmt.Sprintf("http://%s/mcp", address), fmt.Sprintf("ws://%s/ws", address)
	s.stop = func(ctx context.Context) error {
		end()
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s
}

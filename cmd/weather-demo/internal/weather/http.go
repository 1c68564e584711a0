package weather

import (
	"context"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// Era names a kind of client.
type Era string

const (
	Modern Era = "modern"
	Legacy Era = "legacy"
)

// Client is a raw client of this era.
func (e Era) Client() *wire.Options {
	if e == Legacy {
		return &wire.Options{Version: wire.Legacy}
	}
	return nil
}

// Front is an HTTP server with one client.
type Front struct {
	Stream bool // whether the server holds a stream to its client
	Era    Era
	Server func(*mrtr.Runtime) *mcp.Server
	Asked  func(key string) // called for each question
}

// Play serves the tools over HTTP, asking a client over the stream and otherwise using the
// questions' defaults, and hands f the client.
func (f Front) Play(ctx context.Context, play func(*mcp.ClientSession) error) error {
	rt, err := mrtr.New(&mrtr.Options{Unaskable: mrtr.UnaskableLegacyDefaults})
	if err != nil {
		return err
	}
	defer rt.Close()
	server := f.Server(rt)
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{Stateless: !f.Stream})
	if err != nil {
		return err
	}
	web := httptest.NewServer(handler)
	defer web.Close()
	defer handler.Shutdown(ctx)
	session, err := Dial(ctx, web.URL, f.Era, f.Asked)
	if err != nil {
		return err
	}
	defer session.Close()
	return play(session)
}

// Dial connects go-sdk's client, whose user takes the first choice of every question. A
// legacy client must not answer an input_required result, which go-sdk's does by default in
// either era.
func Dial(ctx context.Context, url string, e Era, asked func(key string)) (*mcp.ClientSession, error) {
	opts := &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			key, choice := "units", "metric"
			if req.Params.Message == "Which Springfield?" {
				key, choice = "place", "Springfield, Illinois"
			}
			asked(key)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{key: choice}}, nil
		},
	}
	version := wire.Modern
	if e == Legacy {
		version = wire.Legacy
		opts.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	}
	client := mcp.NewClient(Implementation, opts)
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

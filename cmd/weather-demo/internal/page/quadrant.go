package page

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// answered is what became of a question in one call of the quadrant.
type answered struct {
	Stream   bool   `json:"stream"` // whether the server holds one
	Era      string `json:"era"`
	Letter   string `json:"letter"`
	Question string `json:"question"`
	Got      string `json:"got"` // asked, default or refused
}

// serveQuadrant plays who can be asked: every style over HTTP, with sessions and
// without, by a modern client and by a legacy one. The outcome does not depend
// on the visitor, so it is played once.
func (h *Handler) serveQuadrant(w http.ResponseWriter, r *http.Request) {
	h.quadrant.Lock()
	defer h.quadrant.Unlock()
	if h.corners == nil {
		calls, err := playQuadrant(context.WithoutCancel(r.Context()))
		if err == nil {
			h.corners, err = json.Marshal(calls)
		}
		if err != nil {
			h.opts.Logger.Error("the quadrant was not played", "error", err)
			http.Error(w, "The calls could not be made.", http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(h.corners)
}

func playQuadrant(ctx context.Context) ([]answered, error) {
	var calls []answered
	for _, stream := range []bool{true, false} {
		for _, era := range []string{"modern", "legacy"} {
			got, err := playCorner(ctx, stream, era)
			if err != nil {
				return nil, fmt.Errorf("stream %t, %s client: %w", stream, era, err)
			}
			calls = append(calls, got...)
		}
	}
	return calls, nil
}

func playCorner(ctx context.Context, stream bool, era string) ([]answered, error) {
	rt, err := mrtr.New(&mrtr.Options{Legacy: mrtr.LegacyBridgeOrDefaults})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "weather-demo", Version: "1.0.0"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	for _, o := range options.All {
		mcp.AddTool(server, &mcp.Tool{Name: o.Tool()}, o.New(rt, &options.Audit{}))
	}
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{Stateless: !stream})
	if err != nil {
		return nil, err
	}
	web := httptest.NewServer(handler)
	defer web.Close()
	defer handler.Shutdown(ctx)
	asked := map[string]bool{}
	session, err := connect(ctx, web.URL, era, asked)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	var calls []answered
	for _, o := range options.All {
		for _, c := range []struct{ place, question string }{{"Lisbon", "units"}, {"Springfield", "place"}} {
			clear(asked)
			res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: o.Tool(), Arguments: map[string]any{"location": c.place}})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.Tool(), err)
			}
			got := "default"
			switch {
			case asked[c.question]:
				got = "asked"
			case res.IsError:
				got = "refused"
			}
			calls = append(calls, answered{stream, era, o.Letter, c.question, got})
		}
	}
	return calls, nil
}

// connect dials with go-sdk's client, which notes its requests. A legacy
// one must not retry as only modern ones may.
func connect(ctx context.Context, url, era string, asked map[string]bool) (*mcp.ClientSession, error) {
	opts := &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if req.Params.Message == "Which Springfield?" {
				asked["place"] = true
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"place": "Springfield, Illinois"}}, nil
			}
			asked["units"] = true
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}, nil
		},
	}
	version := "2026-07-28"
	if era == "legacy" {
		version = "2025-11-25"
		opts.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "weather-demo", Version: "1.0.0"}, opts)
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

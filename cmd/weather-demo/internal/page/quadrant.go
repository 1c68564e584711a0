package page

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// answered is the outcome of a question in one call of the quadrant.
type answered struct {
	Stream   bool        `json:"stream"` // whether the server holds one
	Era      weather.Era `json:"era"`
	Letter   string      `json:"letter"`
	Question string      `json:"question"`
	Got      string      `json:"got"` // asked, default or refused
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

func playQuadrant(ctx context.Context) (calls []answered, _ error) {
	for _, stream := range []bool{true, false} {
		for _, era := range []weather.Era{weather.Modern, weather.Legacy} {
			asked := map[string]bool{}
			front := weather.Front{Stream: stream, Era: era, Server: everyTool, Asked: func(key string) { asked[key] = true }}
			err := front.Play(ctx, func(session *mcp.ClientSession) error {
				for _, o := range options.All {
					for _, c := range []struct{ place, question string }{{"Lisbon", "units"}, {"Springfield", "place"}} {
						clear(asked)
						res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: o.Tool(), Arguments: map[string]any{"location": c.place}})
						if err != nil {
							return fmt.Errorf("%s: %w", o.Tool(), err)
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
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("stream %t, %s client: %w", stream, era, err)
			}
		}
	}
	return calls, nil
}

// everyTool is a server with every style.
func everyTool(rt *mrtr.Runtime) *mcp.Server {
	server := mcp.NewServer(weather.Implementation, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	for _, o := range options.All {
		mrtr.AddTool(server, &mcp.Tool{Name: o.Tool()}, o.New(rt, &options.Audit{}))
	}
	return server
}

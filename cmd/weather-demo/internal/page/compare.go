package page

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// sourceLine is a line of a style's own source.
type sourceLine struct {
	Text string `json:"text"`
	Line int    `json:"line"`
}

// row is a line of one style beside a line of the other. One of them may be
// missing.
type row struct {
	A       *sourceLine `json:"a"`
	B       *sourceLine `json:"b"`
	Differs bool        `json:"differs,omitempty"`
}

// serveCompare puts the sources of two styles side by side.
func (h *Handler) serveCompare(w http.ResponseWriter, r *http.Request) {
	var sides [2][]sourceLine
	for i, name := range []string{r.FormValue("left"), r.FormValue("right")} {
		at := slices.IndexFunc(h.styles, func(s style) bool { return s.Name == name })
		if at < 0 {
			http.Error(w, "There is no such style.", http.StatusNotFound)
			return
		}
		sides[i] = h.styles[at].ownLines()
	}
	var rows []row
	for _, p := range weather.Align(sides[0], sides[1], func(a, b sourceLine) bool { return strings.TrimSpace(a.Text) == strings.TrimSpace(b.Text) }) {
		rows = append(rows, row{p.Left, p.Right, !p.Same})
	}
	writeJSON(w, rows)
}

// ownLines are the function that makes a style, or that holds its handler.
func (s style) ownLines() (lines []sourceLine) {
	e := s.Handlers[0].Excerpt
	for i, text := range e.Lines {
		lines = append(lines, sourceLine{text, e.From + i})
	}
	return lines
}

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
func (h *Handler) serveQuadrant(w http.ResponseWriter, _ *http.Request) {
	calls, err := h.quadrant()
	if err != nil {
		h.logger.Error("the quadrant was not played", "error", err)
		http.Error(w, "The calls could not be made.", http.StatusInternalServerError)
		return
	}
	writeJSON(w, calls)
}

func playQuadrant() (calls []answered, _ error) {
	for _, stream := range []bool{true, false} {
		for _, era := range []weather.Era{weather.Modern, weather.Legacy} {
			corner, err := playCorner(context.Background(), stream, era)
			if err != nil {
				return nil, fmt.Errorf("stream %t, %s client: %w", stream, era, err)
			}
			calls = append(calls, corner...)
		}
	}
	return calls, nil
}

// playCorner serves every style over HTTP, asking a client over its stream and otherwise
// using the questions' defaults, and calls each.
func playCorner(ctx context.Context, stream bool, era weather.Era) (calls []answered, _ error) {
	rt, err := mrtr.New(&mrtr.Options{Unaskable: mrtr.UnaskableLegacyDefaults})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	server := mcp.NewServer(weather.Implementation, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	for _, o := range options.All {
		mrtr.AddTool(server, &mcp.Tool{Name: o.Tool()}, o.New(rt, &options.Card{}))
	}
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{Stateless: !stream})
	if err != nil {
		return nil, err
	}
	web := httptest.NewServer(handler)
	defer web.Close()
	defer handler.Shutdown(ctx)
	client, err := wire.DialHTTP(ctx, web.URL, web.Client(), era.Client())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, o := range options.All {
		for _, c := range []struct{ place, question string }{{"Lisbon", "units"}, {"Springfield", "place"}} {
			out, err := client.Call(ctx, o.Tool(), map[string]any{"location": c.place}, weather.FirstChoices)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.Tool(), err)
			}
			got := "default"
			switch {
			case slices.ContainsFunc(out.Questions, func(q wire.Question) bool { return q.Key == c.question }):
				got = "asked"
			case out.Error != nil || out.IsError:
				got = "refused"
			}
			calls = append(calls, answered{stream, era, o.Letter, c.question, got})
		}
	}
	return calls, nil
}

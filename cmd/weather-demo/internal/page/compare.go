package page

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
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

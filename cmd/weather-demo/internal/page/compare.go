package page

import (
	"net/http"
	"slices"
	"strings"
)

// sourceLine is a line of a style's own source; the empty one stands between
// two functions.
type sourceLine struct {
	Text string `json:"text"`
	Line int    `json:"line,omitempty"`
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
	writeJSON(w, align(sides[0], sides[1]))
}

// ownLines are the function that makes a style, and its handlers.
func (s style) ownLines() (lines []sourceLine) {
	add := func(e excerpt) {
		for i, text := range e.Lines {
			lines = append(lines, sourceLine{text, e.From + i})
		}
	}
	add(s.Wiring)
	for i, h := range s.Handlers {
		if i == 0 || h.Name != s.Handlers[0].Name {
			lines = append(lines, sourceLine{})
			add(h.excerpt)
		}
	}
	return lines
}

// align puts equal lines beside each other, and between them what only one side
// has, in pairs as far as they go.
func align(left, right []sourceLine) (rows []row) {
	equal := func(i, j int) bool {
		return strings.TrimSpace(left[i].Text) == strings.TrimSpace(right[j].Text)
	}
	common := make([][]int, len(left)+1) // lines in common from here on
	for i := range common {
		common[i] = make([]int, len(right)+1)
	}
	for i := len(left) - 1; i >= 0; i-- {
		for j := len(right) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); equal(i, j) {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var onlyLeft, onlyRight []*sourceLine
	flush := func() {
		for k := range max(len(onlyLeft), len(onlyRight)) {
			r := row{Differs: true}
			if k < len(onlyLeft) {
				r.A = onlyLeft[k]
			}
			if k < len(onlyRight) {
				r.B = onlyRight[k]
			}
			rows = append(rows, r)
		}
		onlyLeft, onlyRight = nil, nil
	}
	for i, j := 0, 0; i < len(left) || j < len(right); {
		switch {
		case i < len(left) && j < len(right) && equal(i, j):
			flush()
			rows = append(rows, row{A: &left[i], B: &right[j]})
			i, j = i+1, j+1
		case j == len(right) || i < len(left) && common[i+1][j] >= common[i][j+1]:
			onlyLeft = append(onlyLeft, &left[i])
			i++
		default:
			onlyRight = append(onlyRight, &right[j])
			j++
		}
	}
	flush()
	return rows
}

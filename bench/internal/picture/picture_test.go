package picture

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// elements are the elements of a well-formed document, by name.
func elements(t *testing.T, svg []byte) map[string]int {
	t.Helper()
	found := map[string]int{}
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return found
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok {
			found[start.Name.Local]++
			for _, a := range start.Attr {
				require.NotContains(t, a.Value, "NaN", start.Name.Local)
				require.NotContains(t, a.Value, "Inf", start.Name.Local)
			}
		}
	}
}

func TestBars(t *testing.T) {
	b := &Bars{Title: "A & <B>", Unit: "ms", Legend: [2]string{"one", "two"}, Groups: []Group{
		{"ours", Ours, []float64{0.5, 0.25}}, {"theirs", Peer, []float64{2}},
	}}
	svg := b.SVG()
	require.Equal(t, 1+3, elements(t, svg)["rect"], "the page and a bar for each value")
	require.Contains(t, string(svg), "A &amp; &lt;B&gt;")
	require.Contains(t, string(svg), "ours: 0.50 ms. ours: 0.25 ms. theirs: 2.00 ms.", "those who cannot see it hear the values")
	require.Contains(t, string(svg), "prefers-color-scheme:dark")
}

func TestPanels(t *testing.T) {
	p := &Panels{Title: "t", Panels: []Panel{
		{Title: "a", Across: "n", Unit: "ms", X: []int{1, 2, 8}, Lines: []Line{{"ours", Ours, []float64{1, 2, 8}}, {"theirs", Peer, []float64{3, 0, 9}}}},
		{Title: "b", Across: "n", Unit: "µs", Logarithmic: true, X: []int{100, 100_000}, Lines: []Line{{"ours", Ours, []float64{1, 1}}}},
	}}
	svg := p.SVG()
	found := elements(t, svg)
	require.Equal(t, 3, found["polyline"])
	require.Equal(t, 3+2+2, found["circle"], "a point for each value that was measured")
	require.Contains(t, string(svg), "theirs: 3 at 1, 9 at 8.")
	require.Equal(t, 1, strings.Count(string(svg), ">ours</text>"), "one legend for all panels")
}

func TestCeiling(t *testing.T) {
	for _, c := range []struct{ v, top, step float64 }{
		{0, 1, 0.25}, {1, 1, 0.25}, {0.3, 0.3, 0.1}, {1.1, 1.25, 0.25}, {1.6, 2, 0.5}, {2.6, 3, 1}, {6.9, 8, 2}, {21, 25, 5}, {99, 100, 20}, {110, 125, 25},
	} {
		top, step := ceiling(c.v)
		require.InDelta(t, c.top, top, 1e-9, "%v", c.v)
		require.InDelta(t, c.step, step, 1e-9, "%v", c.v)
	}
}

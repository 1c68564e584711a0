// Package picture draws bars and lines as SVG that stands by itself: no script, no
// font, no other file, and colors for a light and a dark page.
package picture

import (
	"fmt"
	"math"
	"strings"
)

// Ours and the other styles are how a bar or a line looks.
const (
	Ours = iota // the subject of the picture
	Host
	HostBare
	Peer
	OtherPeer
	styles
)

// colors of the styles, on a light page and on a dark one.
var colors = [styles][2]string{
	{"#0b63ce", "#5aa9ff"},
	{"#7a5195", "#c39bdd"},
	{"#a7a1b2", "#8f8999"},
	{"#c2410c", "#fb923c"},
	{"#3f7d20", "#86c35f"},
}

// canvas collects a drawing.
type canvas struct {
	width, height int
	body          strings.Builder
}

func (c *canvas) printf(format string, arguments ...any) {
	fmt.Fprintf(&c.body, format+"\n", arguments...)
}

// text writes words; class is one of the classes in head.
func (c *canvas) text(x, y float64, class, words string) {
	c.printf(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, escape(words))
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// svg is the whole drawing. title and description are for those who hear it.
func (c *canvas) svg(title, description string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`+"\n",
		c.width, c.height, c.width, c.height)
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>\n", escape(title), escape(description))
	b.WriteString("text{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#24292f}\n" +
		".h{font-weight:600;font-size:15px}.s{font-size:12px;fill:#57606a}.r{text-anchor:end}.m{text-anchor:middle}\n" +
		".page{fill:#fff}.grid{stroke:#d8dee4}.line{fill:none;stroke-width:2}.pale{opacity:.5}\n")
	for i, pair := range colors {
		fmt.Fprintf(&b, ".f%d{fill:%s}.l%d{stroke:%s}\n", i, pair[0], i, pair[0])
	}
	b.WriteString("@media (prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9ea7b3}.page{fill:#0d1117}.grid{stroke:#30363d}\n")
	for i, pair := range colors {
		fmt.Fprintf(&b, ".f%d{fill:%s}.l%d{stroke:%s}\n", i, pair[1], i, pair[1])
	}
	fmt.Fprintf(&b, "}\n</style>\n<rect class=\"page\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", c.width, c.height)
	b.WriteString(c.body.String())
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// ceiling is the top of an axis that reaches v, and the step of its grid: three to
// five steps of a round number.
func ceiling(v float64) (top, step float64) {
	if v <= 0 {
		return 1, 0.25
	}
	magnitude := math.Pow(10, math.Floor(math.Log10(v))-1)
	for _, m := range []float64{2.5, 5, 10, 20, 25} {
		if step = m * magnitude; v <= 5*step {
			break
		}
	}
	return math.Ceil(v/step-1e-9) * step, step
}

// number is a value with as many digits as its axis needs.
func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

package picture

import (
	"fmt"
	"math"
	"strings"
)

// Panels is a picture of lines, one panel beside another.
type Panels struct {
	Title  string
	Panels []Panel
}

// Panel is one diagram.
type Panel struct {
	Title, Across, Unit string
	Logarithmic         bool // the axis across
	X                   []int
	Lines               []Line
}

// Line is one subject. A value of 0 was not measured.
type Line struct {
	Name   string
	Style  int
	Values []float64
}

// SVG draws the panels, with one legend for all.
func (p *Panels) SVG() []byte {
	const each, height, left, top, bottom = 290.0, 330, 56.0, 112.0, 282.0
	c := &canvas{width: int(each)*len(p.Panels) + 10, height: height}
	c.text(20, 30, "h", p.Title)
	var described strings.Builder
	named := map[string]bool{}
	at := 20.0
	for i := range p.Panels {
		panel := &p.Panels[i]
		for _, line := range panel.Lines {
			if named[line.Name] {
				continue
			}
			named[line.Name] = true
			c.printf(`<rect class="f%d" x="%.1f" y="45" width="12" height="12" rx="2"/>`, line.Style, at)
			c.text(at+18, 55.5, "s", line.Name)
			at += 40 + 7*float64(len(line.Name))
		}
		panel.draw(c, &described, float64(i)*each+left, top, each-left-20, bottom-top)
	}
	return c.svg(p.Title, described.String())
}

func (p *Panel) draw(c *canvas, described *strings.Builder, x0, y0, width, height float64) {
	most := 0.0
	for _, line := range p.Lines {
		for _, v := range line.Values {
			most = max(most, v)
		}
	}
	limit, step := ceiling(most)
	across := func(x int) float64 {
		low, high, v := float64(p.X[0]), float64(p.X[len(p.X)-1]), float64(x)
		if p.Logarithmic {
			low, high, v = math.Log(low), math.Log(high), math.Log(v)
		}
		return x0 + (v-low)/(high-low)*width
	}
	up := func(v float64) float64 { return y0 + height - v/limit*height }
	c.text(x0-40, y0-22, "", p.Title)
	for v := 0.0; v <= limit*1.001; v += step {
		c.printf(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x0, up(v), x0+width, up(v))
		c.text(x0-6, up(v)+4, "s r", number(v))
	}
	c.text(x0-6, y0-8, "s r", p.Unit)
	for _, x := range p.X {
		c.text(across(x), y0+height+18, "s m", short(x))
	}
	c.text(x0+width/2, y0+height+36, "s m", p.Across)
	fmt.Fprintf(described, "%s (%s). ", p.Title, p.Unit)
	for _, line := range p.Lines {
		var points, values []string
		for i, v := range line.Values {
			if v == 0 {
				continue
			}
			points = append(points, fmt.Sprintf("%.1f,%.1f", across(p.X[i]), up(v)))
			values = append(values, fmt.Sprintf("%s at %d", number(v), p.X[i]))
		}
		c.printf(`<polyline class="line l%d" points="%s"/>`, line.Style, strings.Join(points, " "))
		for _, point := range points {
			x, y, _ := strings.Cut(point, ",")
			c.printf(`<circle class="f%d" cx="%s" cy="%s" r="3.2"/>`, line.Style, x, y)
		}
		fmt.Fprintf(described, "%s: %s. ", line.Name, strings.Join(values, ", "))
	}
}

// short is a number for an axis.
func short(n int) string {
	if n >= 1000 && n%1000 == 0 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

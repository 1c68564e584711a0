package picture

import "fmt"

// Bars is a picture of values, one group of bars below another.
type Bars struct {
	Title, Unit string
	Legend      [2]string // of the first and the second bar of every group
	Groups      []Group
}

// Group is one subject. Its second bar is paler.
type Group struct {
	Name   string
	Style  int
	Values []float64 // one or two
}

// SVG draws the bars.
func (b *Bars) SVG() []byte {
	const width, left, right, top, thickness, gap = 860, 250.0, 90.0, 72.0, 14.0, 14.0
	most := 0.0
	height := top
	for _, g := range b.Groups {
		for _, v := range g.Values {
			most = max(most, v)
		}
		height += gap + thickness*float64(len(g.Values))
	}
	c := &canvas{width: width, height: int(height + 24)}
	limit, step := ceiling(most)
	scale := (width - left - right) / limit
	c.text(20, 30, "h", b.Title)
	c.text(20, 50, "s", "solid: "+b.Legend[0]+"; paler: "+b.Legend[1])
	for v := 0.0; v <= limit*1.001; v += step {
		x := left + v*scale
		c.printf(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x, top-4, x, height+4)
		c.text(x, height+18, "s m", number(v))
	}
	c.text(width-20, height+18, "s r", b.Unit)
	description := ""
	y := top
	for _, g := range b.Groups {
		tall := thickness * float64(len(g.Values))
		c.text(left-10, y+tall/2+5, "r", g.Name)
		for i, v := range g.Values {
			class := fmt.Sprintf("f%d", g.Style)
			if i > 0 {
				class += " pale"
			}
			c.printf(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, left, y, v*scale, thickness-2)
			c.text(left+v*scale+6, y+thickness-4, "s", fmt.Sprintf("%.2f", v))
			y += thickness
			description += fmt.Sprintf("%s: %.2f %s. ", g.Name, v, b.Unit)
		}
		y += gap
	}
	return c.svg(b.Title, description)
}

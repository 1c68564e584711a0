package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/mrtr-go/sdk/bench/internal/picture"
)

// draw writes the pictures into a folder. A picture is left as it is if a part of it
// was not measured.
func (r *report) draw(dir string) error {
	bars := r.bars()
	if bars != nil {
		if err := os.WriteFile(filepath.Join(dir, "server-cpu.svg"), bars.SVG(), 0o644); err != nil {
			return err
		}
	}
	if panels := r.panels(); panels != nil {
		return os.WriteFile(filepath.Join(dir, "cost.svg"), panels.SVG(), 0o644)
	}
	return nil
}

// of are the curves of a title, nil unless all of them were measured.
func (r *report) of(title string) []measuredCurve {
	var found []measuredCurve
	for _, c := range r.curves {
		if c.title != title {
			continue
		}
		for _, v := range c.values {
			if v == 0 {
				return nil
			}
		}
		found = append(found, c)
	}
	wanted := 0
	for _, c := range curves() {
		if c.title == title {
			wanted++
		}
	}
	if len(found) < wanted {
		return nil
	}
	return found
}

func (r *report) bars() *picture.Bars {
	servers := r.of(byServer)
	if servers == nil {
		return nil
	}
	b := &picture.Bars{
		Title: "A two-round tool call over HTTP: the server's CPU time", Unit: "ms",
		Legend: [2]string{"default garbage collection", "GOGC=400"},
	}
	for _, c := range servers {
		g := picture.Group{Name: c.name, Style: c.style}
		for _, v := range c.values {
			g.Values = append(g.Values, v/float64(time.Millisecond))
		}
		b.Groups = append(b.Groups, g)
	}
	return b
}

func (r *report) panels() *picture.Panels {
	all := &picture.Panels{Title: "What a call costs as it grows, in CPU time"}
	for _, p := range []struct {
		title       string
		panel       picture.Panel
		nanoseconds time.Duration
	}{
		{byRounds, picture.Panel{Title: "Server, against questions", Across: "questions, one in each round", Unit: "ms"}, time.Millisecond},
		{byClients, picture.Panel{Title: "Server, against clients", Across: "clients at once", Unit: "ms", Logarithmic: true}, time.Millisecond},
		{byFrames, picture.Panel{Title: "A coroutine, its engine alone", Across: "calls held meanwhile", Unit: "µs", Logarithmic: true}, time.Microsecond},
	} {
		lines := r.of(p.title)
		if lines == nil {
			return nil
		}
		for _, point := range lines[0].points {
			p.panel.X = append(p.panel.X, point.x)
		}
		for _, c := range lines {
			line := picture.Line{Name: c.name, Style: c.style}
			for _, v := range c.values {
				line.Values = append(line.Values, v/float64(p.nanoseconds))
			}
			p.panel.Lines = append(p.panel.Lines, line)
		}
		all.Panels = append(all.Panels, p.panel)
	}
	return all
}

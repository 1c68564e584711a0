package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
)

const lessonAbout = `Runs one linear function on three engines, with its effect bare and with its
effect in mrtr.Once, and counts how often the effect happens.`

const lessonIntro = `One function asks for the place, writes its audit line, and asks for the units.
It reads as if it waited for each answer. Three engines run it for a modern
client that is asked about Springfield, so for two questions:

`

// lesson counts the audits of one function on three engines.
func lesson(ctx context.Context, p printer) error {
	fmt.Fprint(p, lessonIntro)
	fmt.Fprintf(p, "%s\n", p.dim("    the function is    audits: bare    in mrtr.Once"))
	for _, e := range landmine.Engines {
		bare, err := auditsOf(ctx, e.Name, modern, e.Bare)
		if err != nil {
			return err
		}
		inOnce, err := auditsOf(ctx, e.Name, modern, e.InOnce)
		if err != nil {
			return err
		}
		fmt.Fprintf(p, "    %-19s%-16d%d\n", e.Name, bare, inOnce)
		p.hang("      ", e.Explanation, p.dim)
	}
	await, err := findStyle("await")
	if err != nil {
		return err
	}
	forModern, err := auditsOf(ctx, await.Name, modern, await.New)
	if err != nil {
		return err
	}
	forLegacy, err := auditsOf(ctx, await.Name, legacy, await.New)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("How it comes about: for a legacy client a server holds the request open, so such a function "+
		"really waits. Landmine B (options/landmine/await.go) waits for legacy clients and is run again for modern ones. "+
		"It audits %s for a legacy client and %s for a modern one, and no test with a legacy client notices.", times(forLegacy), times(forModern))
	fmt.Fprintln(p)
	p.hang("", text, plain)
	return nil
}

// auditsOf makes one call about Springfield, and counts its audit lines.
func auditsOf(ctx context.Context, name string, e era, handler weatherMaker) (int, error) {
	call := plannedCall{option: options.Option{Name: strings.ReplaceAll(name, " ", "_"), New: handler}, era: e, location: "Springfield", answers: firstChoices}
	r, err := call.play(ctx)
	if err != nil {
		return 0, err
	}
	if r.IsError {
		return 0, fmt.Errorf("%s: %s", name, r.Text)
	}
	return r.Effects, nil
}

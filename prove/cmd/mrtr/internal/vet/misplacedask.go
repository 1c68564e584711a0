package vet

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// MisplacedAsk reports questions that are asked where the handler cannot stop.
var MisplacedAsk = analyzer("misplacedask", `report linear.Ask and linear.AskAll on a goroutine, or inside mrtr.Once

A question stops the handler, so it needs the handler's own goroutine. On any other,
and in mrtr.Once, Ask and AskAll ask nothing and return an error.

	g.Go(func() error { units, err = linear.Ask(ctx, c, whichUnits); return err })
	g.Go(func() error { place, err = linear.Ask(ctx, c, whichPlace); return err })

For several questions in one round, use AskAll on the handler's goroutine:

	if err := linear.AskAll(ctx, c, whichUnits, whichPlace); err != nil { ... }
	units, _ := mrtr.Answer(c, whichUnits)

It knows the goroutines of a go statement, errgroup, (*sync.WaitGroup).Go and the
AfterFunc of time and context.`, runMisplacedAsk)

// asks stop their handler until there is an answer.
var asks = names{linearPath + ".Ask", linearPath + ".AskAll"}

// starters run a function on a goroutine of its own.
var starters = names{
	"golang.org/x/sync/errgroup.Group.Go", "golang.org/x/sync/errgroup.Group.TryGo",
	"sync.WaitGroup.Go", "time.AfterFunc", "context.AfterFunc",
}

// onces run a function as an effect.
var onces = names{mrtrPath + ".Once"}

func runMisplacedAsk(p *program, r *reporter) {
	for _, call := range each[ssa.CallInstruction](p) {
		named := calledFunc(call)
		saying := "the goroutine started here asks on line %d: only the handler's goroutine can stop for an answer, so nothing is asked"
		var started []*ssa.Function
		if !stays(call) {
			started = p.callees(call)
			if asks.has(named) {
				r.report(call.Pos(), "%s on a goroutine of its own asks nothing: only the handler's goroutine can stop for an answer", shortNameOf(named))
			}
		} else if starters.has(named) || onces.has(named) {
			if onces.has(named) {
				saying = "the effect asks on line %d: an effect cannot stop for an answer, so nothing is asked; ask above it"
			}
			for _, arg := range argsOf(call) {
				started = append(started, p.functions(arg)...)
			}
		}
		for _, g := range started {
			if at := p.firstCall(g, asks); at.IsValid() {
				r.report(call.Pos(), saying, r.line(at))
				break
			}
		}
	}
}

// firstCall is where a function, or one of this package that it calls, calls one of the
// named functions.
func (p *program) firstCall(f *ssa.Function, of names) token.Pos {
	for call := range p.reach(f, stays) {
		if of.has(calledFunc(call)) {
			return call.Pos()
		}
	}
	return token.NoPos
}

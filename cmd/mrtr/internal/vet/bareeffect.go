package vet

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// BareEffect reports effects above a question of replayed code.
var BareEffect = analyzer("bareeffect", `report effects outside mrtr.Once above a question of journaled code

A handler given to mrtr.Journal or mrtr.Resumable is run again from its top in
each round, and only its questions and Once give the same results again. An
effect above a question therefore happens once for each round; a clock, chance,
a file or a query may come out differently, so the handler takes another way
and the call ends with an error.

	place, err := mrtr.Ask(ctx, c, whichPlace)
	db.ExecContext(ctx, "INSERT INTO audit ...", place) // again in each round below
	units, err := mrtr.Ask(ctx, c, whichUnits)

Do it in Once, or below the last question:

	_, err = mrtr.Once(ctx, c, "audit", func(ctx context.Context, idem string) (bool, error) {
		_, err := db.ExecContext(ctx, "INSERT INTO audit ...", place)
		return err == nil, err
	})

The list, and nothing else: time.Now, Since and Until; the functions of
math/rand, math/rand/v2 and crypto/rand that draw from a shared source; the new
ids of github.com/google/uuid; what reads or writes files, directories and the
environment in os, and (*os.File) likewise; os/exec; what sends in net/http,
net and net/smtp; Exec, Query, QueryRow and Begin in database/sql; fmt.Print,
and fmt.Fprint to an *os.File; log and log/slog; a go statement; a select among
two or more channels other than Done of a context, or one with a default; a
question inside a loop over a map, whose order differs.

Functions of the same package are followed, also through variables. A call into
another package is judged by this list alone.`, runBareEffect)

// replayed make a style of a handler that is run again in each round.
var replayed = names{mrtrPath + ".Journal", mrtrPath + ".Resumable"}

func runBareEffect(p *program, r *reporter) {
	j := journaled{program: p, reporter: r, seen: map[visit]bool{}, asking: map[*ssa.Function]bool{}}
	for _, f := range p.funcs {
		for _, instr := range instructions(f) {
			call, ok := instr.(ssa.CallInstruction)
			if !ok || !replayed.has(calledFunc(call)) || len(call.Common().Args) == 0 || !r.counts(call.Pos()) {
				continue
			}
			for _, handler := range p.functions(call.Common().Args[0]) {
				j.walk(handler, false)
			}
		}
	}
}

type journaled struct {
	*program
	*reporter
	seen   map[visit]bool
	asking map[*ssa.Function]bool // whether a function asks
}

// visit is a function, and whether its caller asks something after it.
type visit struct {
	f        *ssa.Function
	asksNext bool
}

func (j *journaled) walk(f *ssa.Function, asksNext bool) {
	if j.seen[visit{f, asksNext}] {
		return
	}
	j.seen[visit{f, asksNext}] = true
	for _, instr := range instructions(f) {
		next := asksNext || after(instr, j.asks)
		if next {
			if what := effect(instr); what != "" {
				j.report(instr.Pos(), "%s above a question of journaled code: it happens again, and may come out differently, in each round; put it in mrtr.Once or below the last question", what)
			}
		}
		if over := j.mapLoop(instr); over.IsValid() {
			j.report(over, "a question inside a loop over a map: the order differs in each round, so journaled code asks something else than before; loop over sorted keys")
		}
		call, ok := instr.(ssa.CallInstruction)
		if !ok {
			continue
		}
		if _, elsewhere := call.(*ssa.Go); elsewhere {
			continue
		}
		for _, g := range j.callees(call) {
			j.walk(g, next)
		}
	}
}

// asks reports whether an instruction asks, itself or in a function that it calls.
func (j *journaled) asks(instr ssa.Instruction) bool {
	call, ok := instr.(ssa.CallInstruction)
	if !ok {
		return false
	}
	if _, elsewhere := call.(*ssa.Go); elsewhere {
		return false
	}
	if asks.has(calledFunc(call)) {
		return true
	}
	for _, g := range j.callees(call) {
		known, found := j.asking[g]
		if !found {
			known = j.firstAsk(g, map[*ssa.Function]bool{}).IsValid()
			j.asking[g] = known
		}
		if known {
			return true
		}
	}
	return false
}

// mapLoop is where a loop over a map begins that asks in its body.
func (j *journaled) mapLoop(instr ssa.Instruction) token.Pos {
	if call, ok := instr.(*ssa.Call); ok { // a loop over maps.Keys, All or Values
		made, ok := call.Call.Value.(*ssa.Call)
		if ok && mapIterators.has(calledFunc(made)) && j.asks(call) {
			return made.Pos()
		}
		return token.NoPos
	}
	next, ok := instr.(*ssa.Next)
	if !ok || next.IsString {
		return token.NoPos
	}
	each := next.Iter.(*ssa.Range)
	if _, ok := each.X.Type().Underlying().(*types.Map); !ok {
		return token.NoPos
	}
	head := next.Block()
	if len(head.Succs) != 2 {
		return token.NoPos
	}
	body := head.Succs[0]
	for _, b := range head.Parent().Blocks {
		if !body.Dominates(b) || !reaches(b, head) {
			continue
		}
		for _, instr := range b.Instrs {
			if j.asks(instr) {
				return each.Pos()
			}
		}
	}
	return token.NoPos
}

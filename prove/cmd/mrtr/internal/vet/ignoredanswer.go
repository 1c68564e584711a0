package vet

import (
	"golang.org/x/tools/go/ssa"
)

// IgnoredAnswer reports answers that are used although there may be none.
var IgnoredAnswer = analyzer("ignoredanswer", `report an error of linear.Ask, or an ok of mrtr.Answer, that nobody looks at

linear.Ask and linear.AskAll return an error if nobody was asked. A handler that goes
on takes a zero value for the answer.

	sure, _ := linear.Ask(ctx, c, mrtr.Confirm("sure", "Delete it?"))

mrtr.Answer says whether there is an answer. In the first round there is none:

	place, _ := mrtr.Answer(c, whichPlace) // "" in the first round

Check it, and ask for the missing one:

	place, ok := mrtr.Answer(c, whichPlace)
	if !ok {
		return mrtr.Need(whichPlace), none, nil
	}

A value of mrtr.Answer that is compared, or read below a guard, is not reported.`, runIgnoredAnswer)

var (
	answers = names{mrtrPath + ".Answer"}
	natives = names{mrtrPath + ".Native"}
)

func runIgnoredAnswer(p *program, r *reporter) {
	guarded := map[*ssa.Function]bool{} // that run in handlers of the style, and call something
	for _, style := range each[*ssa.Call](p) {
		if natives.has(calledFunc(style)) {
			for _, handler := range p.functions(style.Call.Args[0]) {
				for call := range p.reach(handler, func(ssa.CallInstruction) bool { return true }) {
					guarded[call.Parent()] = true
				}
			}
		}
	}
	for f, call := range each[*ssa.Call](p) {
		results := call.Call.Signature().Results().Len()
		switch named := calledFunc(call); {
		case asks.has(named) && len(uses(call, results-1, results)) == 0:
			r.report(call.Pos(), "the error of %s is ignored: if nobody was asked, the handler goes on with a zero value", shortNameOf(named))
		case answers.has(named) && guarded[f] && len(uses(call, 1, results)) == 0:
			value := uses(call, 0, results)
			if len(value) > 0 && !isCompared(value) && !belowGuard(f, call) {
				r.report(call.Pos(), "whether there is an answer is ignored: in the first round there is none, and the handler goes on with a zero value")
			}
		}
	}
}

// uses are those of one of the results of a call.
func uses(call *ssa.Call, index, results int) []ssa.Instruction {
	if results == 1 {
		return *call.Referrers()
	}
	var found []ssa.Instruction
	for part := range users[*ssa.Extract](call) {
		if part.Index == index {
			found = append(found, *part.Referrers()...)
		}
	}
	return found
}

func isCompared(uses []ssa.Instruction) bool {
	for _, use := range uses {
		switch use := use.(type) {
		case *ssa.BinOp:
			if isComparison(use) {
				return true
			}
		case *ssa.If: // a confirmation: no answer is no yes
			return true
		}
	}
	return false
}

// belowGuard reports whether something above a call in f has looked for an answer: the
// handler is entered again only when every question has one.
func belowGuard(f *ssa.Function, call *ssa.Call) bool {
	for guard := range in[*ssa.Call](f) {
		looks := asks.has(calledFunc(guard)) || answers.has(calledFunc(guard)) && len(uses(guard, 1, 2)) > 0
		if guard != call && looks && follows(guard, call) {
			return true
		}
	}
	return false
}

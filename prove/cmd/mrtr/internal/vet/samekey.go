package vet

import (
	"golang.org/x/tools/go/ssa"
)

// SameKey reports keys that stand for two things.
var SameKey = analyzer("samekey", `report one key for two questions, or for two effects, of one handler

A call remembers answers and effects by their keys. Two under one key end it with a
mrtr.UsageError at the second.

	seat := mrtr.Choose("which", "Which seat?", seats...)
	meal := mrtr.Choose("which", "Which meal?", meals...)
	err := linear.AskAll(ctx, c, seat, meal)

Give each a key of its own. It reports constant keys in one function if control goes from
one to the other, and of questions only those whose constant messages differ.`, runSameKey)

// askers take questions.
var askers = names{linearPath + ".Ask", linearPath + ".AskAll", mrtrPath + ".Answer", mrtrPath + ".Need"}

// keyed is a use of a key.
type keyed struct {
	in    *ssa.Function
	call  *ssa.Call
	kind  string
	key   string
	words string // of a question
}

func runSameKey(p *program, r *reporter) {
	var all []keyed
	for f, call := range each[*ssa.Call](p) {
		switch named := calledFunc(call); {
		case onces.has(named):
			if key := textOf(call.Call.Args[2]); key != "" {
				all = append(all, keyed{f, call, "effects", key, ""})
			}
		case askers.has(named):
			for _, q := range p.questionsOf(call) {
				all = append(all, keyed{f, call, "questions", textOf(q.Call.Args[0]), textOf(q.Call.Args[1])})
			}
		}
	}
	for i, one := range all {
		for _, other := range all[:i] {
			if one.in != other.in || one.kind != other.kind || one.key != other.key || one.words == other.words && one.words != "" {
				continue
			}
			if one.call == other.call && one.kind == "questions" || follows(other.call, one.call) || follows(one.call, other.call) {
				r.report(one.call.Pos(), "key %q stands for two %s in this function, the other on line %d: the second ends the call; give each a key of its own", one.key, one.kind, r.line(other.call.Pos()))
				break
			}
		}
	}
}

// questionsOf are the calls that made the questions which a call takes, of those whose key
// and message are constant.
func (p *program) questionsOf(call *ssa.Call) []*ssa.Call {
	var made []*ssa.Call
	for _, arg := range call.Call.Args {
		list := variadic(arg)
		if list == nil {
			list = []ssa.Value{arg}
		}
		for _, v := range list {
			for _, v := range p.origins(v) {
				if boxed, ok := v.(*ssa.MakeInterface); ok {
					v = boxed.X
				}
				for _, v := range p.origins(v) {
					q, ok := v.(*ssa.Call)
					if ok && questions.has(calledFunc(q)) && textOf(q.Call.Args[0]) != "" && textOf(q.Call.Args[1]) != "" {
						made = append(made, q)
					}
				}
			}
		}
	}
	return made
}

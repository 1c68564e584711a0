package vet

import (
	"go/constant"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

var (
	// answering functions return answers that mrtr has judged. An
	// *mcp.ElicitResult is the answer to mrtr.ElicitRaw: no other question has it.
	answering = names{mrtrPath + ".Ask", mrtrPath + ".Answer", mrtrPath + ".Question.AskOver", mrtrPath + ".Step.Of"}
	// askingSteps have such an answer as their value, and mrtr.DoStep has any other.
	askingSteps = names{mrtrPath + ".AskStep", mrtrPath + ".AskAlso", mrtrPath + ".AskQuestion"}
)

// judged reports whether an assertion of one result cannot panic because mrtr has
// judged the answer, the user has accepted it, and forms give values of that type.
func (p *program) judged(assert *ssa.TypeAssert) bool {
	contents, ok := p.contents(assert.X, map[ssa.Value]bool{})
	if !ok || len(contents) == 0 || !isFormType(assert.AssertedType) {
		return false
	}
	for _, read := range contents {
		result := read.value
		if !p.isJudged(result) || !isPresent(assert.X, assert.Block()) &&
			!p.accepted(result, read.block) && !p.accepted(result, assert.Block()) {
			return false
		}
	}
	return true
}

// contents are the elicitation results whose content v may be a part of, each with the
// block in which the content is read. It is false if v may be something else of a
// client's answers.
func (p *program) contents(v ssa.Value, seen map[ssa.Value]bool) ([]located, bool) {
	if seen[v] {
		return nil, true
	}
	seen[v] = true
	var found []located
	for _, v := range p.origins(v) {
		if _, made := v.(*ssa.MakeInterface); made {
			continue // a value that the program made itself
		}
		if of, name, base := field(v); name == "Content" && isType(of, mcpPath, "ElicitResult") {
			found = append(found, located{base, v.(ssa.Instruction).Block()})
			continue
		}
		if answerPart(v) != "" {
			return nil, false
		}
		if from := container(v); from != nil {
			more, ok := p.contents(from, seen)
			if !ok {
				return nil, false
			}
			found = append(found, more...)
		}
	}
	return found, true
}

// textOf is the text of a string constant, "" for any other value.
func textOf(v ssa.Value) string {
	if c, ok := v.(*ssa.Const); ok && c.Value != nil && c.Value.Kind() == constant.String {
		return constant.StringVal(c.Value)
	}
	return ""
}

func isNil(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}

// isJudged reports whether a result comes from calls of mrtr alone, which judges answers
// by their forms.
func (p *program) isJudged(result ssa.Value) bool {
	judged := false
	for _, v := range p.origins(result) {
		if isNil(v) {
			continue
		}
		if e, ok := v.(*ssa.Extract); ok && e.Index == 0 {
			v = e.Tuple
		}
		call, ok := v.(*ssa.Call)
		if !ok || !answering.has(calledFunc(call)) || calledFunc(call).Name() == "Of" && !p.isAnswer(call.Call.Args[0]) {
			return false
		}
		judged = true
	}
	return judged
}

// isAnswer reports whether a step is one that asks, wherever it was made.
func (p *program) isAnswer(step ssa.Value) bool {
	return !slices.ContainsFunc(p.origins(step), func(v ssa.Value) bool {
		call, ok := v.(*ssa.Call)
		return !ok || !askingSteps.has(calledFunc(call))
	})
}

// isFormType reports whether a form's values may have this type.
func isFormType(t types.Type) bool {
	if list, ok := t.(*types.Slice); ok {
		return types.Identical(list.Elem(), types.Universe.Lookup("any").Type())
	}
	return t == types.Typ[types.String] || t == types.Typ[types.Bool] || t == types.Typ[types.Float64]
}

package vet

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// UncheckedAnswer reports answers that are read as if the client could send
// nothing else.
var UncheckedAnswer = analyzer("uncheckedanswer", `report type assertions on a client's answers that can panic

A client may send anything under a key: nothing, another kind of result, a decline
(whose content is nil) or content of another type. An assertion without its second
value panics on all of these. go-sdk does not recover, so the process ends.

	name := req.Params.InputResponses["name"].(*mcp.ElicitResult).Content["name"].(string)

Check each step, or read the answer with linear.Ask or mrtr.Answer:

	answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult)
	if !ok || answer.Action != "accept" {
		return askForName(), nil, nil
	}
	name, ok := answer.Content["name"].(string)

It also reports a pointer that is used after its check was dropped (r, _ := ...).
Answers to mrtr.ElicitRaw are exempt, because mrtr has judged them.`, runUncheckedAnswer)

func runUncheckedAnswer(p *program, r *reporter) {
	for _, assert := range each[*ssa.TypeAssert](p) {
		read := p.answer(assert.X, p.judged, map[ssa.Value]bool{})
		if read == "" {
			continue
		}
		want := types.TypeString(assert.AssertedType, func(p *types.Package) string { return p.Name() })
		if !assert.CommaOk {
			if !asserted(assert) {
				r.report(assert.Pos(), "%s is asserted to be %s without a check: a client that sends something else, or nothing, makes the handler panic", read, want)
			}
		} else if use := uncheckedUse(assert); use.IsValid() {
			r.report(use, "%s may not be %s, the check on line %d is discarded, and the nil pointer is used here: a client that sends something else, or nothing, makes the handler panic", read, want, r.line(assert.Pos()))
		}
	}
}

// answer says which part of a client's answer a value is, "" if it is none, or is of one that
// is left out.
func (p *program) answer(v ssa.Value, leftOut func(ssa.Value) bool, seen map[ssa.Value]bool) string {
	if seen[v] {
		return ""
	}
	seen[v] = true
	for _, v := range p.origins(v) {
		if _, made := v.(*ssa.MakeInterface); made || leftOut(v) {
			continue // the program made it itself
		}
		if part := answerPart(v); part != "" {
			return part
		}
		if from := container(v); from != nil {
			if read := p.answer(from, leftOut, seen); read != "" {
				return read
			}
		}
	}
	return ""
}

// answering functions return answers that mrtr has judged. An *mcp.ElicitResult is the
// answer to mrtr.ElicitRaw: no other question has it.
var answering = names{linearPath + ".Ask", mrtrPath + ".Answer", mrtrPath + ".Question.AskOver", stepsPath + ".Step.Of", givenPath + ".Answer.Of"}

// judged reports whether a value is the content of answers that all come from mrtr.
func (p *program) judged(v ssa.Value) bool {
	of, name, base := field(v)
	return name == "Content" && isType(of, mcpPath, "ElicitResult") && !slices.ContainsFunc(p.origins(base), func(v ssa.Value) bool {
		if e, ok := v.(*ssa.Extract); ok {
			v = e.Tuple
		}
		call, ok := v.(*ssa.Call)
		return !isNil(v) && !(ok && answering.has(calledFunc(call)))
	})
}

// answerPart says which part of an answer a value is by itself, wherever it was
// taken out of.
func answerPart(v ssa.Value) string {
	if isType(v.Type(), mcpPath, "InputResponse") {
		return "an input response"
	}
	of, name, _ := field(v)
	if name == "Content" && isType(of, mcpPath, "ElicitResult", "CreateMessageResult", "CreateMessageWithToolsResult") {
		return "the content of an answer"
	}
	return ""
}

// container is the value that v was taken out of.
func container(v ssa.Value) ssa.Value {
	switch v := v.(type) {
	case *ssa.Lookup:
		return v.X
	case *ssa.Index:
		return v.X
	case *ssa.TypeAssert:
		return v.X
	case *ssa.UnOp:
		if at, ok := v.X.(*ssa.IndexAddr); ok && v.Op == token.MUL {
			return at.X
		}
	case *ssa.Extract:
		switch tuple := v.Tuple.(type) {
		case *ssa.Lookup:
			return tuple.X
		case *ssa.TypeAssert:
			return tuple.X
		case *ssa.Next:
			if each, ok := tuple.Iter.(*ssa.Range); ok {
				return each.X
			}
		}
	}
	return nil
}

// asserted reports whether a checked assertion of the same type comes before an
// unchecked one.
func asserted(assert *ssa.TypeAssert) bool {
	for _, d := range decided(assert.Block()) {
		ok, is := d.cond.(*ssa.Extract)
		if !is || !d.taken || ok.Index != 1 {
			continue
		}
		checked, is := ok.Tuple.(*ssa.TypeAssert)
		if is && checked.X == assert.X && types.Identical(checked.AssertedType, assert.AssertedType) {
			return true
		}
	}
	return false
}

// uncheckedUse is where the pointer of an assertion whose check is discarded is
// used without a comparison with nil.
func uncheckedUse(assert *ssa.TypeAssert) token.Pos {
	var pointer *ssa.Extract
	for e := range users[*ssa.Extract](assert) {
		if e.Index == 1 && len(*e.Referrers()) > 0 {
			return token.NoPos
		}
		if e.Index == 0 {
			pointer = e
		}
	}
	if _, ok := assert.AssertedType.Underlying().(*types.Pointer); !ok || pointer == nil {
		return token.NoPos
	}
	for _, use := range *pointer.Referrers() {
		switch use := use.(type) {
		case *ssa.FieldAddr:
			if !knownNotNil(pointer, use.Block()) {
				return use.Pos()
			}
		case *ssa.UnOp:
			if use.Op == token.MUL && !knownNotNil(pointer, use.Block()) {
				return use.Pos()
			}
		}
	}
	return token.NoPos
}

func knownNotNil(v ssa.Value, block *ssa.BasicBlock) bool {
	for _, d := range decided(block) {
		compared, ok := d.cond.(*ssa.BinOp)
		if !ok || compared.X != v && compared.Y != v {
			continue
		}
		other := compared.X
		if other == v {
			other = compared.Y
		}
		if isNil(other) && (compared.Op == token.NEQ) == d.taken {
			return true
		}
	}
	return false
}

package vet

import (
	"go/constant"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

var (
	// answering functions return answers that mrtr has judged. An
	// *mcp.ElicitResult is the answer to mrtr.ElicitRaw: no other question has it.
	answering = names{mrtrPath + ".Ask", mrtrPath + ".Answer", mrtrPath + ".Question.AskOver", mrtrPath + ".Step.Of"}
	// askingSteps have such an answer as their value, and mrtr.DoStep has any other.
	askingSteps = names{mrtrPath + ".AskStep", mrtrPath + ".AskAlso", mrtrPath + ".AskQuestion"}
)

// part is a value taken out of the content of an elicitation result.
type part struct {
	result ssa.Value
	read   *ssa.BasicBlock // where the content is read
	depth  int             // 1 for a property, more for something inside its value
	key    string          // the name of the property, "" where it is no constant
}

// judged reports whether an assertion of one result cannot panic because mrtr has
// judged the answer: the form gives the value the asserted type, and the user has
// accepted the form.
func (p *program) judged(assert *ssa.TypeAssert) bool {
	parts, ok := p.parts(assert.X, part{}, map[ssa.Value]bool{})
	if !ok || len(parts) == 0 {
		return false
	}
	want := assert.AssertedType
	present := isPresent(assert.X, assert.Block())
	for _, part := range parts {
		calls, ok := p.answeringCalls(part.result)
		if !ok {
			return false
		}
		if part.depth > 1 { // the value around it was asserted, and is judged there
			if !types.Identical(want, formTypes["string"]) {
				return false
			}
			continue
		}
		if !isFormType(want) {
			return false
		}
		if !present && !p.accepted(part.result, part.read) && !p.accepted(part.result, assert.Block()) {
			return false
		}
		for _, call := range calls {
			for _, f := range p.shownForms(call) {
				if part.key != "" && !f.gives(part.key, want, present) {
					return false
				}
			}
		}
	}
	return true
}

// parts are the parts of elicitation results that v may be. It is false if v may
// be something else of a client's answers.
func (p *program) parts(v ssa.Value, outer part, seen map[ssa.Value]bool) ([]part, bool) {
	if seen[v] {
		return nil, true
	}
	seen[v] = true
	var found []part
	for _, v := range p.origins(v) {
		if _, made := v.(*ssa.MakeInterface); made {
			continue // a value that the program made itself
		}
		if of, name, base := field(v); name == "Content" && isType(of, mcpPath, "ElicitResult") {
			content := outer
			content.result, content.read = base, v.(ssa.Instruction).Block()
			found = append(found, content)
			continue
		}
		if answerPart(v) != "" {
			return nil, false
		}
		from := container(v)
		if from == nil {
			continue
		}
		more, ok := p.parts(from, part{depth: outer.depth + 1, key: keyOf(v)}, seen)
		if !ok {
			return nil, false
		}
		found = append(found, more...)
	}
	return found, true
}

// keyOf is the constant key by which a value is looked up in a map, or "".
func keyOf(v ssa.Value) string {
	if e, ok := v.(*ssa.Extract); ok {
		if lookup, ok := e.Tuple.(*ssa.Lookup); ok {
			v = lookup
		}
	}
	if lookup, ok := v.(*ssa.Lookup); ok {
		return textOf(lookup.Index)
	}
	return ""
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

// answeringCalls are the calls of mrtr that a result comes from. It is false if
// the result may come from anywhere else.
func (p *program) answeringCalls(result ssa.Value) ([]*ssa.Call, bool) {
	var calls []*ssa.Call
	for _, v := range p.origins(result) {
		if isNil(v) {
			continue
		}
		if e, ok := v.(*ssa.Extract); ok && e.Index == 0 {
			v = e.Tuple
		}
		call, ok := v.(*ssa.Call)
		if !ok || !answering.has(calledFunc(call)) {
			return nil, false
		}
		if calledFunc(call).Name() == "Of" && len(p.stepCalls(call)) == 0 {
			return nil, false
		}
		calls = append(calls, call)
	}
	return calls, len(calls) > 0
}

// stepCalls are the calls that made the step whose value is read, none if the
// step may be one that does not ask.
func (p *program) stepCalls(of *ssa.Call) []*ssa.Call {
	var calls []*ssa.Call
	for _, v := range p.origins(of.Call.Args[0]) {
		call, ok := v.(*ssa.Call)
		if !ok || !askingSteps.has(calledFunc(call)) {
			return nil
		}
		calls = append(calls, call)
	}
	return calls
}

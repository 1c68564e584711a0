package vet

import (
	"encoding/json"
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

// part is a value taken out of the content of an elicitation result.
type part struct {
	result ssa.Value
	read   *ssa.BasicBlock // where the content is read
	depth  int             // 1 for a property, more for something inside its value
	key    string          // the name of the property, "" if it is no constant
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

var elicitRaw = names{mrtrPath + ".ElicitRaw"}

// shownForm is the schema of a form that stands in the source as JSON text.
type shownForm struct {
	Properties map[string]struct{ Type string }
	Required   []string
}

// gives reports whether an accepted form has a value of a Go type under a key. One
// that is present need not be required.
func (f *shownForm) gives(key string, want types.Type, present bool) bool {
	property, ok := f.Properties[key]
	return ok && (present || slices.Contains(f.Required, key)) && types.Identical(want, formTypes[property.Type])
}

// formTypes are the Go types of the values of forms, by the types in their schemas.
var formTypes = map[string]types.Type{
	"string":  types.Typ[types.String],
	"boolean": types.Typ[types.Bool],
	"number":  types.Typ[types.Float64],
	"integer": types.Typ[types.Float64],
	"array":   types.NewSlice(types.Universe.Lookup("any").Type()),
}

func isFormType(t types.Type) bool {
	for _, known := range formTypes {
		if types.Identical(t, known) {
			return true
		}
	}
	return false
}

// shownForms are the forms of the question that a call answers, as far as the
// source shows them.
func (p *program) shownForms(call *ssa.Call) []*shownForm {
	var forms []*shownForm
	for _, question := range p.questions(call) {
		for _, v := range p.origins(question) {
			if raw, ok := v.(*ssa.Call); ok && elicitRaw.has(calledFunc(raw)) {
				forms = append(forms, p.formsOf(argsOf(raw)[1])...)
			}
		}
	}
	return forms
}

// questions are those that a call of mrtr answers.
func (p *program) questions(call *ssa.Call) []ssa.Value {
	args := call.Call.Args
	switch calledFunc(call).Name() {
	case "Ask":
		return args[2:3]
	case "Answer":
		return args[1:2]
	case "AskOver":
		return args[:1]
	}
	var questions []ssa.Value
	for _, step := range p.stepCalls(call) {
		made := step.Call.Args[2]
		if calledFunc(step).Name() == "AskQuestion" {
			questions = append(questions, made)
			continue
		}
		for _, f := range p.functions(made) {
			for _, instr := range instructions(f) {
				if ret, ok := instr.(*ssa.Return); ok {
					questions = append(questions, ret.Results[0])
				}
			}
		}
	}
	return questions
}

// formsOf are the schemas that parameters of an elicitation are given.
func (p *program) formsOf(params ssa.Value) []*shownForm {
	var forms []*shownForm
	for _, v := range p.origins(params) {
		literal, ok := v.(*ssa.Alloc)
		if !ok {
			continue
		}
		for _, use := range *literal.Referrers() {
			addr, ok := use.(*ssa.FieldAddr)
			if !ok {
				continue
			}
			if _, name, _ := field(addr); name != "RequestedSchema" {
				continue
			}
			for _, schema := range storedAt(addr) {
				forms = append(forms, p.formsIn(schema)...)
			}
		}
	}
	return forms
}

// formsIn reads the schemas that are constants.
func (p *program) formsIn(schema ssa.Value) []*shownForm {
	var forms []*shownForm
	for _, v := range p.origins(schema) {
		made, ok := v.(*ssa.MakeInterface)
		if !ok {
			continue
		}
		for _, text := range p.origins(made.X) {
			var f shownForm
			if json.Unmarshal([]byte(textOf(text)), &f) == nil {
				forms = append(forms, &f)
			}
		}
	}
	return forms
}

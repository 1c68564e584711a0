package vet

import (
	"encoding/json"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

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
			for _, use := range *addr.Referrers() {
				if store, ok := use.(*ssa.Store); ok && store.Addr == addr {
					forms = append(forms, p.formsIn(store.Val)...)
				}
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

package vet

import (
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// BareArgument reports arguments of a tool that stand unquoted in a question.
var BareArgument = analyzer("bareargument", `report arguments of a tool in a question's message without Quote

A model writes a tool's arguments, often from somebody else's text. In a question's
message such text can pose as the question.

	mrtr.Confirm("sure", "Delete "+in.Path+"?") // Path: "nothing. Press yes to go on. Ignore: x"

Quote puts it between quotes, on one short line, with hidden characters shown:

	mrtr.Confirm("sure", "Delete "+mrtr.Quote(in.Path)+"?")

It reports a string of the handler's input, or of a list in it, that reaches the message
as it came, also through fmt.Sprint, strings.Join, Trim and their like. It accepts one that
%q formats, or that the code above compares, looks up in a map, or gives to a function
that returns a bool or an error.`, runBareArgument)

// questions take the message as their second argument.
var questions = names{
	mrtrPath + ".Elicit", mrtrPath + ".ElicitAs", mrtrPath + ".ElicitURL",
	mrtrPath + ".Choose", mrtrPath + ".ChooseSome", mrtrPath + ".Confirm",
}

var (
	printers = names{"fmt.Sprint", "fmt.Sprintln"}
	shapers  = names{"strings.Trim*", "strings.To*", "strings.Join", "strings.Clone"}
	// resolvers take a function whose second parameter is the handler's input.
	resolvers = names{givenPath + ".Question", givenPath + ".After"}
)

func runBareArgument(p *program, r *reporter) {
	b := bareArguments{program: p, resolving: map[*ssa.Function]bool{}}
	for _, call := range each[*ssa.Call](p) {
		if resolvers.has(calledFunc(call)) {
			for _, arg := range call.Call.Args {
				for _, f := range p.functions(arg) {
					b.resolving[f] = true
				}
			}
		}
	}
	for f, instr := range each[ssa.Instruction](p) {
		b.noteTest(f, instr)
	}
	for f, call := range each[*ssa.Call](p) {
		if !questions.has(calledFunc(call)) || len(call.Call.Args) < 2 {
			continue
		}
		b.seen, b.found = map[ssa.Value]bool{}, ""
		b.look(call.Call.Args[1], func(name string) bool { return b.tested(name, outermost(f), call.Pos()) })
		if b.found != "" {
			r.report(call.Pos(), "%s, an argument of the tool, is in the question's message as it came, and can pose as the question: put it into mrtr.Quote", b.found)
		}
	}
}

type bareArguments struct {
	*program
	resolving map[*ssa.Function]bool // functions that make the questions of Givens
	tests     []test
	seen      map[ssa.Value]bool
	found     string
}

// test is a place that may check an argument.
type test struct {
	name string
	in   *ssa.Function
	at   token.Pos
}

// tested reports whether an argument may have been checked before a question is made.
func (b *bareArguments) tested(name string, in *ssa.Function, before token.Pos) bool {
	for _, t := range b.tests {
		if t.name == name && (t.in != in || t.at < before) {
			return true
		}
	}
	return false
}

func (b *bareArguments) noteTest(f *ssa.Function, instr ssa.Instruction) {
	var looked []ssa.Value
	switch instr := instr.(type) {
	case *ssa.BinOp:
		if isComparison(instr) && !isEmptyText(instr.X) && !isEmptyText(instr.Y) {
			looked = []ssa.Value{instr.X, instr.Y}
		}
	case *ssa.Lookup:
		looked = []ssa.Value{instr.Index}
	case *ssa.Call:
		if judges(instr) && len(*instr.Referrers()) > 0 {
			looked = instr.Call.Args
		}
	}
	for _, v := range looked {
		for _, end := range b.origins(v) {
			if name := b.argument(end); name != "" {
				b.tests = append(b.tests, test{name, outermost(f), instr.Pos()})
			}
		}
	}
}

func isEmptyText(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Value.ExactString() == `""`
}

// judges reports whether a call says yes or no, or gives an error.
func judges(call *ssa.Call) bool {
	results := call.Call.Signature().Results()
	for i := range results.Len() {
		t := types.Unalias(results.At(i).Type())
		if basic, ok := t.Underlying().(*types.Basic); t == errorType || ok && basic.Kind() == types.Bool {
			return true
		}
	}
	return false
}

// look takes a message apart, and finds an argument in it that nothing has checked.
func (b *bareArguments) look(v ssa.Value, checked func(name string) bool) {
	for _, v := range b.origins(v) {
		if b.seen[v] {
			continue
		}
		b.seen[v] = true
		switch v := v.(type) {
		case *ssa.BinOp:
			if v.Op == token.ADD {
				b.look(v.X, checked)
				b.look(v.Y, checked)
			}
			continue
		case *ssa.MakeInterface:
			b.look(v.X, checked)
			continue
		case *ssa.Call:
			for _, part := range textsIn(v) {
				b.look(part, checked)
			}
			continue
		}
		if name := b.argument(v); name != "" && !checked(name) {
			b.found = name
		}
	}
}

var verbs = regexp.MustCompile(`%[^a-zA-Z%]*.`)

// textsIn are the arguments of a call that its result shows as they came.
func textsIn(call *ssa.Call) []ssa.Value {
	named, args := calledFunc(call), call.Call.Args
	switch {
	case shapers.has(named):
		return args
	case printers.has(named):
		return variadic(args[0])
	case !(names{"fmt.Sprintf"}).has(named):
		return nil
	}
	format, ok := args[0].(*ssa.Const)
	if !ok || format.Value == nil {
		return nil
	}
	text := strings.ReplaceAll(constant.StringVal(format.Value), "%%", "")
	if strings.ContainsAny(text, "[*") { // the order of the arguments may be another
		return nil
	}
	var shown []ssa.Value
	all := variadic(args[1])
	for i, verb := range verbs.FindAllString(text, -1) {
		if i < len(all) && (strings.HasSuffix(verb, "s") || strings.HasSuffix(verb, "v")) {
			shown = append(shown, all[i])
		}
	}
	return shown
}

// variadic are the values of a variadic argument, in their order.
func variadic(v ssa.Value) []ssa.Value {
	slice, ok := v.(*ssa.Slice)
	if !ok {
		return nil
	}
	array, ok := slice.X.(*ssa.Alloc)
	if !ok {
		return nil
	}
	var all []ssa.Value
	for at := range users[*ssa.IndexAddr](array) {
		all = append(all, storedAt(at)...)
	}
	return all
}

// argument names the field of a handler's input that a value is, or is an element of;
// "" if it is none, or is of a type of its own.
func (b *bareArguments) argument(v ssa.Value) string {
	if !isText(v.Type()) {
		return ""
	}
	name := ""
	for range 32 { // fields of fields, and variables on the way
		of, field, base := field(v)
		switch {
		case base != nil && field == "In" && (isType(of, stepsPath, "At") || isType(of, givenPath, "At")):
			return name
		case base != nil:
			name, v = field, base
			continue
		}
		next := b.before(v)
		if next == nil {
			break
		}
		v = next
	}
	if param, ok := v.(*ssa.Parameter); ok && b.isInput(param) {
		return name
	}
	return ""
}

// before is the one value that v is a part or a copy of.
func (b *bareArguments) before(v ssa.Value) ssa.Value {
	var from []ssa.Value
	switch v := v.(type) {
	case *ssa.IndexAddr:
		return v.X
	case *ssa.Index:
		return v.X
	case *ssa.Slice:
		return v.X
	case *ssa.UnOp:
		return v.X
	case *ssa.FreeVar:
		from = b.bindings(v)
	case *ssa.Alloc:
		from = storedAt(v)
	case *ssa.Parameter:
		if !b.isInput(v) {
			from = b.arguments(v)
		}
	}
	if len(from) != 1 {
		return nil
	}
	return from[0]
}

// isInput reports whether a parameter is the typed input of a handler, or of a function
// that makes a question for one.
func (b *bareArguments) isInput(param *ssa.Parameter) bool {
	f := param.Parent()
	params := f.Signature.Params()
	return isInputBehind(param, mcpPath, "ServerRequest") || isInputBehind(param, mrtrPath, "Call") ||
		b.resolving[f] && len(f.Params) > 0 && params.Len() > 1 && param.Object() == params.At(1)
}

// isInputBehind reports whether a parameter is the last of three, behind one of a type.
func isInputBehind(param *ssa.Parameter, path, typeName string) bool {
	f := param.Parent()
	params := f.Signature.Params()
	return params.Len() == 3 && isType(params.At(1).Type(), path, typeName) && len(f.Params) > 0 && param == f.Params[len(f.Params)-1]
}

func isText(t types.Type) bool {
	if list, ok := t.Underlying().(*types.Slice); ok {
		t = list.Elem()
	}
	return types.Identical(t, types.Typ[types.String])
}

package vet

import (
	"go/ast"
	"go/types"
	"iter"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// program is one package in SSA form, and who calls whom in it. The analyzers
// share it.
type program struct {
	pass  *analysis.Pass
	ssa   *ssa.Program
	funcs []*ssa.Function // every function with a body here, literals included

	// calls are the static calls of a function. A function that is also used as
	// a value has callers that nobody sees.
	calls   map[*ssa.Function][]ssa.CallInstruction
	escaped map[*ssa.Function]bool

	// fields are the places that take the address of a field which no other package
	// can name, so that every value it has comes from one of them.
	fields map[*types.Var][]*ssa.FieldAddr
}

// build makes the SSA form. It is here in place of go/analysis's own buildssa
// because that one needs facts about every dependency, so a run would have to
// load the sources of all of them; a short list of the functions that end a
// program stands in for the facts.
var build = &analysis.Analyzer{
	Name:       "mrtrssa",
	Doc:        "build the SSA form that the analyzers of mrtr vet share",
	Run:        func(pass *analysis.Pass) (any, error) { return newProgram(pass), nil },
	ResultType: reflect.TypeFor[*program](),
}

func newProgram(pass *analysis.Pass) *program {
	p := &program{
		pass:    pass,
		ssa:     ssa.NewProgram(pass.Fset, 0),
		calls:   map[*ssa.Function][]ssa.CallInstruction{},
		escaped: map[*ssa.Function]bool{},
		fields:  map[*types.Var][]*ssa.FieldAddr{},
	}
	p.ssa.SetNoReturn(func(f *types.Func) bool { return endsProgram.has(f) })
	for _, imported := range pass.Pkg.Imports() {
		p.ssa.CreatePackage(imported, nil, nil, true)
	}
	pkg := p.ssa.CreatePackage(pass.Pkg, pass.Files, pass.TypesInfo, false)
	pkg.Build()

	for _, file := range pass.Files {
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Name.Name != "_" {
				if f, ok := pass.TypesInfo.Defs[d.Name].(*types.Func); ok {
					p.add(p.ssa.FuncValue(f))
				}
			}
		}
	}
	if pkgInit := pkg.Func("init"); pkgInit != nil {
		p.add(pkgInit) // what package variables are set to
	}
	for _, instr := range each[ssa.Instruction](p) {
		p.note(instr)
	}
	return p
}

// each are the instructions of one kind in every function.
func each[T ssa.Instruction](p *program) iter.Seq2[*ssa.Function, T] {
	return func(yield func(*ssa.Function, T) bool) {
		for _, f := range p.funcs {
			for instr := range in[T](f) {
				if !yield(f, instr) {
					return
				}
			}
		}
	}
}

// in are the instructions of one kind in a function.
func in[T ssa.Instruction](f *ssa.Function) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, b := range f.Blocks {
			for _, instr := range b.Instrs {
				if one, ok := instr.(T); ok && !yield(one) {
					return
				}
			}
		}
	}
}

// users are the instructions of one kind that use a value.
func users[T ssa.Instruction](v ssa.Value) iter.Seq[T] {
	return func(yield func(T) bool) {
		all := v.Referrers()
		if all == nil {
			return
		}
		for _, use := range *all {
			if one, ok := use.(T); ok && !yield(one) {
				return
			}
		}
	}
}

// reach are the calls in a function, and in those of this package that it calls, in the order
// in which they are met. A call that does not count is not entered either.
func (p *program) reach(f *ssa.Function, counts func(ssa.CallInstruction) bool) iter.Seq[ssa.CallInstruction] {
	return func(yield func(ssa.CallInstruction) bool) {
		seen := map[*ssa.Function]bool{}
		var enter func(*ssa.Function) bool
		enter = func(f *ssa.Function) bool {
			if seen[f] {
				return true
			}
			seen[f] = true
			for call := range in[ssa.CallInstruction](f) {
				if !counts(call) {
					continue
				}
				if !yield(call) {
					return false
				}
				for _, g := range p.callees(call) {
					if !enter(g) {
						return false
					}
				}
			}
			return true
		}
		enter(f)
	}
}

func (p *program) add(f *ssa.Function) {
	if f == nil || slices.Contains(p.funcs, f) {
		return
	}
	p.funcs = append(p.funcs, f)
	for _, literal := range f.AnonFuncs {
		p.add(literal)
	}
}

// note remembers the call that an instruction makes and the functions that it
// takes as values.
func (p *program) note(instr ssa.Instruction) {
	if addr, ok := instr.(*ssa.FieldAddr); ok {
		if field := p.ownField(addr); field != nil {
			p.fields[field] = append(p.fields[field], addr)
		}
	}
	var called ssa.Value
	if call, ok := instr.(ssa.CallInstruction); ok {
		if f := p.local(call.Common().StaticCallee()); f != nil {
			called = call.Common().Value
			p.calls[f] = append(p.calls[f], call)
		}
	}
	for _, operand := range instr.Operands(nil) {
		if *operand == nil || *operand == called {
			continue
		}
		_, function := (*operand).(*ssa.Function)
		if _, closes := instr.(*ssa.MakeClosure); closes && function {
			continue // judged where the closure is used
		}
		if f := p.local(functionOf(*operand)); f != nil {
			p.escaped[f] = true
		}
	}
}

// ownField is the field that an address is the address of, nil if other packages can name it.
func (p *program) ownField(addr *ssa.FieldAddr) *types.Var {
	named := namedOf(addr.X.Type())
	if named == nil {
		return nil
	}
	s, ok := named.Origin().Underlying().(*types.Struct)
	if !ok || s.Field(addr.Field).Exported() || s.Field(addr.Field).Pkg() != p.pass.Pkg {
		return nil
	}
	return s.Field(addr.Field)
}

// functionOf is the function that a value is, with or without variables of its own;
// nil if the value is none.
func functionOf(v ssa.Value) *ssa.Function {
	if closure, ok := v.(*ssa.MakeClosure); ok {
		v = closure.Fn
	}
	f, _ := v.(*ssa.Function)
	return f
}

// local is the function of this package whose body runs when f is called: of an
// instance its generic function, of a bound method the method. It is nil for
// functions of other packages.
func (p *program) local(f *ssa.Function) *ssa.Function {
	if f == nil {
		return nil
	}
	if f.Origin() != nil {
		f = f.Origin()
	}
	if f.Synthetic != "" && f.Syntax() == nil {
		method, ok := f.Object().(*types.Func)
		if !ok {
			return nil
		}
		f = p.ssa.FuncValue(method.Origin())
	}
	if f == nil || len(f.Blocks) == 0 {
		return nil
	}
	return f
}

// callees are the functions of this package that a call enters, as far as its
// source shows them.
func (p *program) callees(call ssa.CallInstruction) []*ssa.Function {
	common := call.Common()
	var found []*ssa.Function
	if !common.IsInvoke() {
		found = p.functions(common.Value)
	}
	for _, arg := range common.Args {
		// The body of a loop over an iterator is a function that the iterator calls.
		if f := functionOf(arg); f != nil {
			if _, isBody := f.Syntax().(*ast.RangeStmt); isBody {
				found = append(found, f)
			}
		}
	}
	return found
}

// stays reports whether a call is made on the goroutine that comes to it.
func stays(call ssa.CallInstruction) bool {
	_, elsewhere := call.(*ssa.Go)
	return !elsewhere
}

// after reports whether some instruction that match picks may run after instr
// in the same function.
func after(instr ssa.Instruction, match func(ssa.Instruction) bool) bool {
	block := instr.Block()
	at := slices.Index(block.Instrs, instr)
	return slices.ContainsFunc(block.Instrs[at+1:], match) ||
		leads(block.Succs, func(b *ssa.BasicBlock) bool { return slices.ContainsFunc(b.Instrs, match) })
}

// follows reports whether one instruction may run after another in the same function.
func follows(first, second ssa.Instruction) bool {
	return after(first, func(i ssa.Instruction) bool { return i == second })
}

// leads reports whether control may go from one of the blocks, itself included, to one
// that match picks.
func leads(from []*ssa.BasicBlock, match func(*ssa.BasicBlock) bool) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock) bool
	visit = func(b *ssa.BasicBlock) bool {
		if seen[b] {
			return false
		}
		seen[b] = true
		return match(b) || slices.ContainsFunc(b.Succs, visit)
	}
	return slices.ContainsFunc(from, visit)
}

// branch is a condition that has been decided where a block is entered.
type branch struct {
	cond  ssa.Value
	taken bool // the value it had
}

// decided are the conditions that were decided on every way to a block.
func decided(block *ssa.BasicBlock) []branch {
	var found []branch
	for _, b := range block.Parent().Blocks {
		if len(b.Instrs) == 0 {
			continue
		}
		choice, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		for i, next := range b.Succs {
			if len(next.Preds) == 1 && next.Dominates(block) {
				found = append(found, branch{choice.Cond, i == 0})
			}
		}
	}
	return found
}

package vet

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// origins are the values that v may be, as far back as the source of this
// package shows: through variables, branches, conversions, closures, calls of
// functions here, and parameters of functions whose callers are all here. Where
// the trail ends, the value at its end stands for itself.
func (p *program) origins(v ssa.Value) []ssa.Value {
	t := trail{program: p, seen: map[ssa.Value]bool{}}
	t.follow(v)
	return t.ends
}

// functions are the functions of this package that v may be.
func (p *program) functions(v ssa.Value) []*ssa.Function {
	var found []*ssa.Function
	for _, end := range p.origins(v) {
		if closure, ok := end.(*ssa.MakeClosure); ok {
			end = closure.Fn
		}
		if f, ok := end.(*ssa.Function); ok {
			if f = p.local(f); f != nil {
				found = append(found, f)
			}
		}
	}
	return found
}

type trail struct {
	*program
	seen map[ssa.Value]bool
	ends []ssa.Value
}

func (t *trail) follow(v ssa.Value) {
	if v == nil || t.seen[v] {
		return
	}
	t.seen[v] = true
	if before := t.before(v); len(before) > 0 {
		for _, b := range before {
			t.follow(b)
		}
		return
	}
	t.ends = append(t.ends, v)
}

// before are the values that v was one step earlier, none where the trail ends.
func (t *trail) before(v ssa.Value) []ssa.Value {
	switch v := v.(type) {
	case *ssa.Phi:
		return v.Edges
	case *ssa.ChangeType:
		return []ssa.Value{v.X}
	case *ssa.ChangeInterface:
		return []ssa.Value{v.X}
	case *ssa.Convert:
		return []ssa.Value{v.X}
	case *ssa.Call:
		return t.returned(v, 0)
	case *ssa.Extract:
		if call, ok := v.Tuple.(*ssa.Call); ok {
			return t.returned(call, v.Index)
		}
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return t.stored(v.X)
		}
	case *ssa.Parameter:
		return t.arguments(v)
	}
	return nil
}

// returned are the values that a function of this package returns to a call.
func (t *trail) returned(call *ssa.Call, index int) []ssa.Value {
	var values []ssa.Value
	f := t.local(call.Call.StaticCallee())
	if f == nil {
		return nil
	}
	for _, instr := range instructions(f) {
		if ret, ok := instr.(*ssa.Return); ok && index < len(ret.Results) {
			values = append(values, ret.Results[index])
		}
	}
	return values
}

// stored are the values that are put where addr points, none where something
// else may write there too.
func (t *trail) stored(addr ssa.Value) []ssa.Value {
	switch addr := addr.(type) {
	case *ssa.Alloc, *ssa.FreeVar:
		return t.storedLocally(addr)
	case *ssa.Global:
		var values []ssa.Value
		for _, f := range t.funcs {
			for _, instr := range instructions(f) {
				if s, ok := instr.(*ssa.Store); ok && s.Addr == addr {
					values = append(values, s.Val)
				}
			}
		}
		return values
	case *ssa.FieldAddr:
		alloc, ok := addr.X.(*ssa.Alloc)
		if !ok {
			return nil
		}
		var values []ssa.Value
		for _, use := range *alloc.Referrers() {
			if other, ok := use.(*ssa.FieldAddr); ok && other.Field == addr.Field {
				for _, use := range *other.Referrers() {
					if s, ok := use.(*ssa.Store); ok && s.Addr == other {
						values = append(values, s.Val)
					}
				}
			}
		}
		return values
	}
	return nil
}

func (t *trail) storedLocally(addr ssa.Value) []ssa.Value {
	var values []ssa.Value
	for _, use := range t.variableUses(addr) {
		if s, ok := use.(*ssa.Store); ok {
			values = append(values, s.Val)
		}
	}
	return values
}

// variableUses are the loads and stores of a variable, in the function that
// declares it and in the closures that share it. There are none if its address
// goes anywhere else.
func (p *program) variableUses(addr ssa.Value) []ssa.Instruction {
	seen := map[ssa.Value]bool{}
	var uses []ssa.Instruction
	var visit func(ssa.Value) bool
	visit = func(addr ssa.Value) bool {
		if seen[addr] {
			return true
		}
		seen[addr] = true
		if free, ok := addr.(*ssa.FreeVar); ok {
			for _, b := range p.bindings(free) {
				if !visit(b) {
					return false
				}
			}
		}
		for _, use := range *addr.Referrers() {
			switch use := use.(type) {
			case *ssa.UnOp:
				uses = append(uses, use)
			case *ssa.Store:
				if use.Addr != addr {
					return false
				}
				uses = append(uses, use)
			case *ssa.MakeClosure:
				f := use.Fn.(*ssa.Function)
				for i, b := range use.Bindings {
					if b == addr && !visit(f.FreeVars[i]) {
						return false
					}
				}
			case *ssa.DebugRef:
			default:
				return false
			}
		}
		return true
	}
	if !visit(addr) {
		return nil
	}
	return uses
}

// bindings are the values that a closure's variable has where the closure is made.
func (p *program) bindings(free *ssa.FreeVar) []ssa.Value {
	f := free.Parent()
	var values []ssa.Value
	for i, other := range f.FreeVars {
		if other != free || f.Parent() == nil {
			continue
		}
		for _, instr := range instructions(f.Parent()) {
			if closure, ok := instr.(*ssa.MakeClosure); ok && closure.Fn == f {
				values = append(values, closure.Bindings[i])
			}
		}
	}
	return values
}

// arguments are the values that the callers of a function give for a parameter,
// none where somebody else may call it.
func (p *program) arguments(param *ssa.Parameter) []ssa.Value {
	f := param.Parent()
	if p.escaped[f] || f.Object() != nil && f.Object().Exported() {
		return nil
	}
	var values []ssa.Value
	for i, other := range f.Params {
		if other != param {
			continue
		}
		for _, call := range p.calls[f] {
			if args := call.Common().Args; i < len(args) {
				values = append(values, args[i])
			}
		}
	}
	return values
}

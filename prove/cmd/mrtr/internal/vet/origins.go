package vet

import (
	"go/token"
	"slices"

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
		if f := p.local(functionOf(end)); f != nil {
			found = append(found, f)
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

// before are the values that v was one step earlier, none if the trail ends.
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
func (p *program) returned(call *ssa.Call, index int) []ssa.Value {
	f := p.local(call.Call.StaticCallee())
	if f == nil {
		return nil
	}
	var found []ssa.Value
	for ret := range in[*ssa.Return](f) {
		if index < len(ret.Results) {
			found = append(found, ret.Results[index])
		}
	}
	return found
}

// stored are the values that are put where addr points, none if something
// else may write there too.
func (t *trail) stored(addr ssa.Value) (values []ssa.Value) {
	switch addr := addr.(type) {
	case *ssa.Alloc, *ssa.FreeVar:
		for _, use := range t.variableUses(addr) {
			if s, ok := use.(*ssa.Store); ok {
				values = append(values, s.Val)
			}
		}
	case *ssa.Global:
		for _, s := range each[*ssa.Store](t.program) {
			if s.Addr == addr {
				values = append(values, s.Val)
			}
		}
	case *ssa.FieldAddr:
		others := t.fields[t.ownField(addr)]
		if alloc, ok := addr.X.(*ssa.Alloc); ok && len(others) == 0 {
			for other := range users[*ssa.FieldAddr](alloc) {
				if other.Field == addr.Field {
					others = append(others, other)
				}
			}
		}
		for _, other := range others {
			values = append(values, storedAt(other)...)
		}
	}
	return values
}

// storedAt are the values that the code which has an address writes there.
func storedAt(addr ssa.Value) []ssa.Value {
	var values []ssa.Value
	for s := range users[*ssa.Store](addr) {
		if s.Addr == addr {
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
	if f.Parent() == nil {
		return nil
	}
	var found []ssa.Value
	for closure := range in[*ssa.MakeClosure](f.Parent()) {
		if closure.Fn == f {
			found = append(found, closure.Bindings[slices.Index(f.FreeVars, free)])
		}
	}
	return found
}

// arguments are the values that the callers of a function give for a parameter,
// none if somebody else may call it.
func (p *program) arguments(param *ssa.Parameter) []ssa.Value {
	f := param.Parent()
	if p.escaped[f] || f.Object() != nil && f.Object().Exported() {
		return nil
	}
	i := slices.Index(f.Params, param)
	var found []ssa.Value
	for _, call := range p.calls[f] {
		if args := call.Common().Args; i < len(args) {
			found = append(found, args[i])
		}
	}
	return found
}

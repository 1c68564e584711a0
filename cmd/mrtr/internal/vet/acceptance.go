package vet

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// isPresent reports whether a value was found in the content: one of a decline
// has none.
func isPresent(v ssa.Value, block *ssa.BasicBlock) bool {
	if knownNotNil(v, block) {
		return true
	}
	value, ok := v.(*ssa.Extract)
	if !ok {
		return false
	}
	if _, ranged := value.Tuple.(*ssa.Next); ranged {
		return true
	}
	for _, d := range decided(block) {
		if found, ok := d.cond.(*ssa.Extract); ok && d.taken && found.Index == 1 && found.Tuple == value.Tuple {
			return true
		}
	}
	return false
}

// accepted reports whether a result is known to be an accepted one where control
// is in a block: from a comparison above it, or, if the result was passed on,
// from one in the code that passes it.
func (p *program) accepted(result ssa.Value, block *ssa.BasicBlock) bool {
	return p.isAccepted(result, block, map[ssa.Value]bool{})
}

func (p *program) isAccepted(result ssa.Value, block *ssa.BasicBlock, seen map[ssa.Value]bool) bool {
	result = variableOf(result)
	if seen[result] || isNil(result) || comparedWithAccept(result, block) {
		return true
	}
	seen[result] = true
	passed := p.passed(result, block)
	for _, from := range passed {
		if !p.isAccepted(from.value, from.block, seen) {
			return false
		}
	}
	return len(passed) > 0
}

// passed are the values that v is, where they are given to the code that a block
// is in: stored in a variable, caught by a closure, given as an argument or
// returned.
func (p *program) passed(v ssa.Value, block *ssa.BasicBlock) []located {
	switch v := v.(type) {
	case *ssa.Alloc:
		var from []located
		for _, stored := range p.storedLocally(v) {
			from = append(from, located{stored, block})
		}
		return from
	case *ssa.FreeVar:
		return p.bindings(v)
	case *ssa.Parameter:
		return p.arguments(v)
	case *ssa.Call:
		return p.returned(v, 0)
	case *ssa.Extract:
		if call, ok := v.Tuple.(*ssa.Call); ok {
			return p.returned(call, v.Index)
		}
	}
	return nil
}

// variableOf is the variable that a value is loaded from, or else the value.
func variableOf(v ssa.Value) ssa.Value {
	if load, ok := v.(*ssa.UnOp); ok && load.Op == token.MUL {
		switch load.X.(type) {
		case *ssa.Alloc, *ssa.FreeVar:
			return load.X
		}
	}
	return v
}

// comparedWithAccept reports whether the action of a result was compared above a
// block, so that only "accept" is left.
func comparedWithAccept(result ssa.Value, block *ssa.BasicBlock) bool {
	declined, cancelled := false, false
	for _, d := range decided(block) {
		compared, ok := d.cond.(*ssa.BinOp)
		if !ok || compared.Op != token.EQL && compared.Op != token.NEQ {
			continue
		}
		read, action := compared.X, textOf(compared.Y)
		if action == "" {
			read, action = compared.Y, textOf(compared.X)
		}
		of, name, base := field(read)
		if name != "Action" || !isType(of, mcpPath, "ElicitResult") || variableOf(base) != result {
			continue
		}
		switch equal := (compared.Op == token.EQL) == d.taken; {
		case equal && action == "accept":
			return true
		case !equal && action == "decline":
			declined = true
		case !equal && action == "cancel":
			cancelled = true
		}
	}
	return declined && cancelled
}

package vet

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// after reports whether some instruction that match picks may run after instr
// in the same function.
func after(instr ssa.Instruction, match func(ssa.Instruction) bool) bool {
	block := instr.Block()
	at := slices.Index(block.Instrs, instr)
	if slices.ContainsFunc(block.Instrs[at+1:], match) {
		return true
	}
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock) bool
	visit = func(b *ssa.BasicBlock) bool {
		if seen[b] {
			return false
		}
		seen[b] = true
		return slices.ContainsFunc(b.Instrs, match) || slices.ContainsFunc(b.Succs, visit)
	}
	return slices.ContainsFunc(block.Succs, visit)
}

// reaches reports whether control may go from one block to another.
func reaches(from, to *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(*ssa.BasicBlock) bool
	visit = func(b *ssa.BasicBlock) bool {
		if b == to {
			return true
		}
		if seen[b] {
			return false
		}
		seen[b] = true
		return slices.ContainsFunc(b.Succs, visit)
	}
	return visit(from)
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

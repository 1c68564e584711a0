package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// reporter reports the findings of one analyzer in one package, each once.
type reporter struct {
	pass     *analysis.Pass
	reported map[token.Pos]bool
}

func newReporter(pass *analysis.Pass) *reporter {
	return &reporter{pass, map[token.Pos]bool{}}
}

// report reports a finding, unless it stands in a test or its author has
// accepted it. Of test files only examples are judged: they are documentation,
// which people copy, while a test may do the wrong thing on purpose.
func (r *reporter) report(pos token.Pos, format string, args ...any) {
	file := r.file(pos)
	if file == nil || r.reported[pos] || !r.counts(pos) {
		return
	}
	r.reported[pos] = true
	message := fmt.Sprintf(format, args...)
	switch reason, accepted := r.accepted(file, pos); {
	case accepted && reason != "":
		return
	case accepted:
		message += "; the " + directive + " comment here is not heeded, because it gives no reason"
	}
	r.pass.Report(analysis.Diagnostic{Pos: pos, Message: message})
}

func (r *reporter) file(pos token.Pos) *ast.File {
	i := slices.IndexFunc(r.pass.Files, func(f *ast.File) bool { return f.FileStart <= pos && pos < f.FileEnd })
	if i < 0 {
		return nil
	}
	return r.pass.Files[i]
}

// counts reports whether the code at pos is judged. A handler that only a test
// registers is reached by no client, so registrations are asked too.
func (r *reporter) counts(pos token.Pos) bool {
	file := r.file(pos)
	return file != nil && (!strings.HasSuffix(r.pass.Fset.File(pos).Name(), "_test.go") || inExample(file, pos))
}

func inExample(file *ast.File, pos token.Pos) bool {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Pos() <= pos && pos < f.End() {
			return f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example")
		}
	}
	return false
}

const directive = "//mrtr:allow"

// accepted finds a comment that accepts a finding, on its line or on the one
// above it:
//
//	//mrtr:allow unsealedstate the state names a page of a public list
func (r *reporter) accepted(file *ast.File, pos token.Pos) (reason string, ok bool) {
	line := r.pass.Fset.Position(pos).Line
	for _, group := range file.Comments {
		for _, comment := range group.List {
			at := r.pass.Fset.Position(comment.Pos()).Line
			text, is := strings.CutPrefix(comment.Text, directive+" ")
			if !is || at != line && at != line-1 {
				continue
			}
			name, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
			if name == r.pass.Analyzer.Name {
				return strings.TrimSpace(reason), true
			}
		}
	}
	return "", false
}

// line is the line of a position, for messages.
func (r *reporter) line(pos token.Pos) int { return r.pass.Fset.Position(pos).Line }

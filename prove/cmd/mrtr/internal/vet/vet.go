// Package vet finds the mistakes that tools which ask their users are made
// with: eight analyzers over handlers written with go-sdk alone or with mrtr.
//
// They prefer to miss a mistake over reporting one that is none. Each follows a
// value or a call only as far as the source of the one package shows where it
// goes, and is silent beyond.
package vet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzers are all analyzers, in the order in which help lists them.
var Analyzers = []*analysis.Analyzer{
	UncheckedAnswer,
	UnsealedState,
	SessionAsk,
	BareEffect,
	MisplacedAsk,
	IgnoredAnswer,
	SameKey,
	BareArgument,
}

// analyzer is an analyzer on the shared SSA form.
func analyzer(name, doc string, run func(*program, *reporter)) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     name,
		Doc:      doc,
		URL:      "https://github.com/mrtr-go/sdk/blob/main/docs/vet.md#" + name,
		Requires: []*analysis.Analyzer{build},
		Run: func(pass *analysis.Pass) (any, error) {
			run(pass.ResultOf[build].(*program), &reporter{pass, map[token.Pos]bool{}})
			return nil, nil
		},
	}
}

// A Finding is one mistake in the source.
type Finding struct {
	Analyzer string `json:"analyzer"`
	File     string `json:"file"` // as seen from the directory that Run was given
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Message  string `json:"message"`
}

// Run judges the packages that the patterns name, as seen from dir, the current
// directory if that is empty, and tells at where it is. The findings are in order of
// their places. An error means that not everything could be judged.
func Run(dir string, analyzers []*analysis.Analyzer, at func(place string), patterns ...string) ([]Finding, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	at("listing the packages")
	s := &sources{dir: dir, dependencies: map[string]*types.Package{}}
	pkgs, err := s.list(patterns)
	if err != nil {
		return nil, err
	}
	seen := map[Finding]bool{} // a file may belong to a package and to its tests
	var failed []error
	for i, p := range pkgs {
		at(fmt.Sprintf("package %d of %d, %s", i+1, len(pkgs), p.PkgPath))
		pass, err := s.pass(p)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		pass.ResultOf = map[*analysis.Analyzer]any{build: newProgram(pass)}
		for _, a := range analyzers {
			one := *pass
			one.Analyzer = a
			one.Report = func(d analysis.Diagnostic) {
				at := pass.Fset.Position(d.Pos)
				seen[Finding{a.Name, relative(dir, at.Filename), at.Line, at.Column, d.Message}] = true
			}
			if _, err := a.Run(&one); err != nil {
				failed = append(failed, fmt.Errorf("%s in %s: %w", a.Name, p.ID, err))
			}
		}
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Analyzer, b.Analyzer))
	}), nil
}

func relative(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// WriteText writes a line for each finding, as compilers do.
func WriteText(w io.Writer, findings []Finding) error {
	for _, f := range findings {
		if _, err := fmt.Fprintf(w, "%s:%d:%d: %s (%s)\n", filepath.FromSlash(f.File), f.Line, f.Column, f.Message, f.Analyzer); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes the findings as an array in an object.
func WriteJSON(w io.Writer, findings []Finding) error {
	if findings == nil {
		findings = []Finding{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(map[string]any{"findings": findings})
}

// reporter reports the findings of one analyzer in one package, each once.
type reporter struct {
	pass     *analysis.Pass
	reported map[token.Pos]bool
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

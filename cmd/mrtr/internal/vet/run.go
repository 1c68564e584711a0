package vet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// A Finding is one mistake in the source.
type Finding struct {
	Analyzer string `json:"analyzer"`
	File     string `json:"file"` // as seen from the directory that Run was given
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Message  string `json:"message"`
}

// Run judges the packages that the patterns name, as seen from dir, the current
// directory where that is empty. The findings are in order of their places. An
// error means that not everything could be judged.
func Run(dir string, analyzers []*analysis.Analyzer, patterns ...string) ([]Finding, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode:  packages.LoadSyntax | packages.NeedModule,
		Dir:   dir,
		Tests: true, // for the examples in them
	}, patterns...)
	if err != nil {
		return nil, err
	}
	if len(pkgs) == 0 {
		return nil, fmt.Errorf("%s: no packages", strings.Join(patterns, " "))
	}
	if err := loadErrors(pkgs); err != nil {
		return nil, err
	}
	graph, err := checker.Analyze(analyzers, pkgs, nil)
	if err != nil {
		return nil, err
	}
	seen := map[Finding]bool{} // a file may belong to a package and to its tests
	var findings []Finding
	for act := range graph.All() {
		if act.Err != nil {
			return nil, fmt.Errorf("%s in %s: %w", act.Analyzer.Name, act.Package.ID, act.Err)
		}
		if !act.IsRoot {
			continue
		}
		for _, d := range act.Diagnostics {
			at := act.Package.Fset.Position(d.Pos)
			f := Finding{act.Analyzer.Name, relative(dir, at.Filename), at.Line, at.Column, d.Message}
			if !seen[f] {
				seen[f] = true
				findings = append(findings, f)
			}
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Analyzer, b.Analyzer))
	})
	return findings, nil
}

func loadErrors(pkgs []*packages.Package) error {
	var all []error
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, err := range p.Errors {
			if err.Pos == "" || err.Pos == "-" { // of no place in a file
				all = append(all, errors.New(err.Msg))
			} else {
				all = append(all, err)
			}
		}
		if p.Module != nil && p.Module.Error != nil {
			all = append(all, errors.New(p.Module.Error.Err))
		}
	})
	return errors.Join(all...)
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

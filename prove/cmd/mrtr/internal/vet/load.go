package vet

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// sources are the packages of one run, type-checked from their sources as they are needed.
//
// Nothing is compiled. The usual way to know a dependency is its export data, which go list
// makes by compiling it, and the dependencies of every test as well. Declarations are all
// that the analyzers need of a dependency, so its functions' bodies are skipped, and with
// them the packages that only bodies mention.
type sources struct {
	dir          string
	dependencies map[string]*types.Package // by id
}

// list finds the packages that are to be judged. An error names those that cannot be.
func (s *sources) list(patterns []string) ([]*packages.Package, error) {
	roots, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedForTest,
		Dir:   s.dir,
		Tests: true, // for the examples in them
	}, patterns...)
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("%s: no packages", strings.Join(patterns, " "))
	}
	var judged []*packages.Package
	var failed []error
	for _, p := range roots {
		asks := slices.ContainsFunc(known, func(path string) bool { return p.Imports[path] != nil })
		switch {
		case len(p.Errors) > 0: // nobody knows its imports
			failed = append(failed, loadErrors(p))
		case asks && (p.ForTest == "" || hasExample(p)):
			judged = append(judged, p)
			failed = append(failed, loadErrors(p))
		}
	}
	return judged, errors.Join(failed...)
}

// known are the packages of which a package imports one if it asks anybody.
var known = []string{mcpPath, mrtrPath, linearPath, stepsPath, givenPath, ssePath, eraPath}

// hasExample reports whether a package's tests hold an example, the one kind of test that
// is judged.
func hasExample(p *packages.Package) bool {
	return slices.ContainsFunc(p.GoFiles, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && strings.HasSuffix(name, "_test.go") && bytes.Contains(text, []byte("\nfunc Example"))
	})
}

func loadErrors(root *packages.Package) error {
	var all []error
	packages.Visit([]*packages.Package{root}, nil, func(p *packages.Package) {
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

// pass type-checks a package that is judged.
func (s *sources) pass(p *packages.Package) (*analysis.Pass, error) {
	pass := &analysis.Pass{
		Fset: token.NewFileSet(),
		TypesInfo: &types.Info{
			Types:        map[ast.Expr]types.TypeAndValue{},
			Instances:    map[*ast.Ident]types.Instance{},
			Defs:         map[*ast.Ident]types.Object{},
			Uses:         map[*ast.Ident]types.Object{},
			Implicits:    map[ast.Node]types.Object{},
			Selections:   map[*ast.SelectorExpr]*types.Selection{},
			Scopes:       map[ast.Node]*types.Scope{},
			FileVersions: map[*ast.File]string{},
		},
	}
	var failed []error
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(pass.Fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` }) {
			failed = append(failed, fmt.Errorf("%s: cgo is judged by go vet -vettool alone", name))
		}
		pass.Files = append(pass.Files, file)
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	config := s.config(p, func(err error) { failed = append(failed, err) })
	pass.Pkg, _ = config.Check(p.PkgPath, pass.Fset, pass.Files, pass.TypesInfo)
	pass.TypesSizes = config.Sizes
	return pass, errors.Join(failed...)
}

func (s *sources) config(p *packages.Package, failed func(error)) *types.Config {
	c := &types.Config{Importer: importer{s, p}, FakeImportC: true, Sizes: types.SizesFor("gc", runtime.GOARCH), Error: failed}
	if p.Module != nil && p.Module.GoVersion != "" {
		c.GoVersion = "go" + p.Module.GoVersion
	}
	return c
}

// importer finds the imports of one package.
type importer struct {
	*sources
	from *packages.Package
}

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := i.from.Imports[path]; p != nil {
		return i.declared(p), nil
	}
	return nil, errors.New("there is no such package")
}

// declared is a dependency as its declarations have it. Errors in it are not ours to
// report: go build does, and what cannot be declared is missed where it is used.
func (s *sources) declared(p *packages.Package) *types.Package {
	if checked := s.dependencies[p.ID]; checked != nil {
		return checked
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		if file, _ := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution); file != nil {
			prune(file, p)
			files = append(files, file)
		}
	}
	config := s.config(p, func(error) {})
	config.IgnoreFuncBodies = true
	checked, _ := config.Check(p.PkgPath, fset, files, nil)
	s.dependencies[p.ID] = checked
	return checked
}

// prune leaves a file the imports that it mentions outside of functions' bodies.
func prune(file *ast.File, p *packages.Package) {
	mentioned := map[string]bool{".": true}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				mentioned[x.Name] = true
			}
		}
		return true
	})
	file.Decls = slices.DeleteFunc(file.Decls, func(decl ast.Decl) bool {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.IMPORT {
			return false
		}
		d.Specs = slices.DeleteFunc(d.Specs, func(spec ast.Spec) bool { return !mentioned[nameIn(spec.(*ast.ImportSpec), p)] })
		return len(d.Specs) == 0
	})
}

// nameIn is the name of an import in a file of p.
func nameIn(spec *ast.ImportSpec, p *packages.Package) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	from, _ := strconv.Unquote(spec.Path.Value) // the parser has unquoted it before
	if imported := p.Imports[from]; imported != nil {
		return imported.Name
	}
	return path.Base(from)
}

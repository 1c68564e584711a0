package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// variable holds the number of the mutant that is on.
const variable = "MUTANT"

type mutant struct {
	number int
	file   string
	line   int
	change string
	code   string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d  %s: %s", m.file, m.line, m.change, m.code)
}

// instrument writes mutated copies of a folder's files to scratch. It returns the mutants
// and the overlay that puts the copies in the place of the files.
func instrument(folder, scratch string) ([]mutant, string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, "", err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, "", err
	}
	var all []mutant
	replaced, name := map[string]string{}, ""
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, "", err
		}
		f := &file{text: text, set: token.NewFileSet(), first: len(all) + 1}
		tree, err := parser.ParseFile(f.set, path, text, parser.ParseComments)
		if err != nil {
			return nil, "", err
		}
		name = tree.Name.Name
		f.mutate(tree)
		all = append(all, f.mutants...)
		replaced[path] = filepath.Join(scratch, filepath.Base(path))
		if err := os.WriteFile(replaced[path], f.mutated(), 0o600); err != nil {
			return nil, "", err
		}
	}
	if len(all) == 0 {
		return nil, "", fmt.Errorf("nothing to mutate in %s", folder)
	}
	replaced[filepath.Join(folder, "mutant_switch.go")] = filepath.Join(scratch, "mutant_switch.go")
	if err := os.WriteFile(filepath.Join(scratch, "mutant_switch.go"), []byte("package "+name+switches), 0o600); err != nil {
		return nil, "", err
	}
	overlay, err := writeOverlay(scratch, replaced)
	return all, overlay, err
}

// switches are the functions that the mutated files call.
const switches = `

import (
	"os"
	"strconv"
)

var mutantNumber, _ = strconv.Atoi(os.Getenv("` + variable + `"))

func mutantOn(n int) bool { return n == mutantNumber }

func mutantNot[B ~bool](n int, b B) B { return b != B(mutantOn(n)) }

func mutantOr(n int, b, or bool) bool {
	if mutantOn(n) {
		return or
	}
	return b
}
`

// file is a source file on its way to be mutated.
type file struct {
	text    []byte
	set     *token.FileSet
	first   int // number of its first mutant
	mutants []mutant
	edits   []edit
}

type edit struct {
	at   int
	text string
}

func (f *file) at(p token.Pos) int         { return f.set.Position(p).Offset }
func (f *file) code(n ast.Node) string     { return string(f.text[f.at(n.Pos()):f.at(n.End())]) }
func (f *file) insert(at int, text string) { f.edits = append(f.edits, edit{at, text}) }

// add numbers one more mutant of the code of a node.
func (f *file) add(n ast.Node, change string) int {
	p := f.set.Position(n.Pos())
	m := mutant{f.first + len(f.mutants), filepath.Base(p.Filename), p.Line, change, oneLine(f.code(n))}
	f.mutants = append(f.mutants, m)
	return m.number
}

func (f *file) mutate(tree *ast.File) {
	for _, d := range tree.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		ast.Inspect(function.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				f.condition(n.Cond)
			case *ast.SwitchStmt:
				if n.Tag != nil {
					break
				}
				for _, c := range n.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						f.condition(e)
					}
				}
			case *ast.BlockStmt:
				f.statements(n.List)
			case *ast.CaseClause:
				f.statements(n.Body)
			case *ast.CommClause:
				f.statements(n.Body)
			}
			return true
		})
	}
}

var moved = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// condition negates e and, if e compares, moves its bound.
func (f *file) condition(e ast.Expr) {
	from, to := f.at(e.Pos()), f.at(e.End())
	f.insert(from, fmt.Sprintf("mutantNot(%d, ", f.add(e, "negated")))
	if c, ok := e.(*ast.BinaryExpr); ok && moved[c.Op] != "" && repeatable(c) {
		f.insert(from, fmt.Sprintf("mutantOr(%d, ", f.add(e, "moved to "+moved[c.Op])))
		f.insert(to, ", "+f.code(c.X)+moved[c.Op]+f.code(c.Y)+")")
	}
	f.insert(to, ")")
}

// repeatable reports whether code can be evaluated twice: it calls len and cap at most.
func repeatable(e ast.Expr) bool {
	can := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name, _ := n.Fun.(*ast.Ident)
			can = can && name != nil && (name.Name == "len" || name.Name == "cap")
		case *ast.UnaryExpr:
			can = can && n.Op != token.ARROW
		}
		return can
	})
	return can
}

// statements leaves out calls and assignments, one at a time.
func (f *file) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); !ok || neverLeftOut(f.code(call.Fun)) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.IncDecStmt:
		default:
			continue
		}
		f.insert(f.at(s.Pos()), fmt.Sprintf("if !mutantOn(%d) { ", f.add(s, "left out")))
		f.insert(f.at(s.End()), " }")
	}
}

// neverLeftOut names calls whose absence hangs every test and teaches nothing, or does not
// compile.
func neverLeftOut(function string) bool {
	return function == "panic" || strings.HasSuffix(function, "Lock") || strings.HasSuffix(function, ".Exit")
}

// mutated is the text with its edits. Of two at one place, the one that was made first
// stands first.
func (f *file) mutated() []byte {
	slices.SortStableFunc(f.edits, func(a, b edit) int { return a.at - b.at })
	var out []byte
	last := 0
	for _, e := range f.edits {
		out = append(append(out, f.text[last:e.at]...), e.text...)
		last = e.at
	}
	return append(out, f.text[last:]...)
}

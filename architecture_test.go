package sdk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/architecture.md names files, and declarations in them, as
// `path/file.go` and `path/file.go: Name` or `path/file.go: Type.Method`.
func TestArchitectureNamesCodeThatExists(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`([\\w./-]+\\.(?:go|md))(?:: ([\\w.]+))?`").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(named), 40)
	declared := map[string]map[string]bool{}
	for _, match := range named {
		file, name := match[1], match[2]
		require.FileExists(t, file)
		if name == "" {
			continue
		}
		if declared[file] == nil {
			declared[file] = declarations(t, file)
		}
		require.Truef(t, declared[file][name], "%s declares no %s", file, name)
	}
	require.Greater(t, len(declared), 10)
}

// The page's map has the packages that have an import rule.
func TestArchitectureMapsThePackages(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(page), "\n| package | holds |\n")
	require.True(t, ok)
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(table, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			rows = append(rows, strings.Trim(name, "`"))
		}
	}
	var rules []string
	for _, r := range importStair {
		if r.pkg != "." && r.pkg != "boundary/internal/misbehaving/server" {
			rules = append(rules, r.pkg)
		}
	}
	require.ElementsMatch(t, rules, rows)
}

// A state is written in one file. Others may copy one whole, which is a single
// assignment to a field st.
func TestTheStateIsWrittenInOneFile(t *testing.T) {
	ofPending := fieldsOf(t, "mrtr/state.go", "pending")
	fields := map[string]bool{}
	for _, field := range append(fieldsOf(t, "mrtr/state.go", "state"), ofPending...) {
		fields[field] = true
	}
	require.Greater(t, len(fields), 10)
	files, err := filepath.Glob("mrtr/*.go")
	require.NoError(t, err)
	checked := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "mrtr/state.go" || file == "mrtr/stateformat.go" {
			continue
		}
		checked++
		ast.Inspect(parse(t, file), func(n ast.Node) bool {
			var written []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				written = n.Lhs
			case *ast.IncDecStmt:
				written = []ast.Expr{n.X}
			}
			for _, expr := range written {
				field, ok := expr.(*ast.SelectorExpr)
				if !ok || !fields[field.Sel.Name] {
					continue
				}
				of, ok := field.X.(*ast.SelectorExpr)
				ofState := ok && of.Sel.Name == "st" || slices.Contains(ofPending, field.Sel.Name)
				require.Falsef(t, ofState, "%s writes the state's %s: give mrtr/state.go a method for it", file, field.Sel.Name)
			}
			return true
		})
	}
	require.Greater(t, checked, 20)
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return parsed
}

// declarations are the names at the top level of a file, methods with their type.
func declarations(t *testing.T, file string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, decl := range parse(t, file).Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name.Name
			if decl.Recv != nil {
				name = receiver(decl.Recv.List[0].Type) + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names[name.Name] = true
					}
				}
			}
		}
	}
	return names
}

func receiver(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return receiver(expr.X)
	case *ast.IndexExpr:
		return receiver(expr.X)
	case *ast.IndexListExpr:
		return receiver(expr.X)
	case *ast.Ident:
		return expr.Name
	}
	return ""
}

func fieldsOf(t *testing.T, file, typeName string) (names []string) {
	t.Helper()
	ast.Inspect(parse(t, file), func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != typeName {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
		return false
	})
	return names
}

package tree_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

// docs/architecture.md names files, and declarations in them, as
// `path/file.go` and `path/file.go: Name` or `path/file.go: Type.Method`.
func TestArchitectureNamesCodeThatExists(t *testing.T) {
	page := fleet.Must(os.ReadFile("docs/architecture.md"))(t)
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

// The page sends its reader to the packages' own comments.
func TestEveryPackageSaysWhatItHolds(t *testing.T) {
	require.NotEmpty(t, importStair)
	for _, step := range importStair {
		said := false
		for _, file := range fleet.Must(filepath.Glob(filepath.Join(step.pkg, "*.go")))(t) {
			comment := fleet.Must(parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments))(t).Doc
			said = said || comment != nil && !strings.HasSuffix(file, "_test.go")
		}
		require.True(t, said, "%s has no comment", step.pkg)
	}
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed := fleet.Must(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
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

// docs/architecture.md ends with the promises and the tests that hold them. Every test
// it names exists, and it has promises of every package that makes some.
func TestPromisesNameTestsThatExist(t *testing.T) {
	page := fleet.Must(os.ReadFile("docs/architecture.md"))(t)
	_, table, ok := strings.Cut(string(page), "\n| promise | held by |\n|---|---|\n")
	require.True(t, ok)
	row := regexp.MustCompile(`(?m)^\| [^*].* \| (.+) \|$`) // a row in bold is a heading
	named := regexp.MustCompile("`((?:[\\w.-]+/)*)((?:Test|Fuzz|Example)\\w*)`")
	exists := map[string]map[string]bool{}
	promises := map[string]int{}
	rows := row.FindAllStringSubmatch(table, -1)
	require.NotEmpty(t, rows)
	for _, line := range rows {
		tests := named.FindAllStringSubmatch(line[1], -1)
		require.NotEmptyf(t, tests, "a promise without a test: %s", line[0])
		for _, m := range tests {
			dir, test := filepath.Clean("./"+m[1]), m[2]
			if exists[dir] == nil {
				exists[dir] = testsIn(t, dir)
			}
			require.Truef(t, exists[dir][test], "%s names %s, which is not in %s", line[0], test, dir)
			promises[dir]++
		}
	}
	for _, dir := range []string{"statecodec", "mrtr", "sse", "boundary", "transport/mcphttp", "transport/wstransport", "store/storetest", "tasks", "prove"} {
		require.NotZerof(t, promises[dir], "no promise of %s is listed", dir)
	}
}

func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files := fleet.Must(filepath.Glob(filepath.Join(dir, "*_test.go")))(t)
	require.NotEmptyf(t, files, "no tests in %s", dir)
	found := map[string]bool{}
	for _, file := range files {
		maps.Copy(found, declarations(t, file))
	}
	return found
}

// The codes that JSON-RPC and the Model Context Protocol define for the purposes that
// we use them for. All others between -32768 and -32000 are theirs to define.
var definedCodes = map[int]string{
	-32700: "parse error", -32600: "invalid request", -32601: "method not found", -32602: "invalid params", -32603: "internal error",
	-32020: "the headers of an HTTP request do not fit its body", -32021: "a client capability is missing", -32022: "the protocol version is not supported",
}

// codesThatAreNotOurs are reserved codes that our programs contain and do not choose.
var codesThatAreNotOurs = map[string]map[int]string{
	"boundary/errors.go":                    {-32002: "go-sdk's code for an unknown resource, which is replaced"},
	"relay/relay.go":                        {-32005: "go-sdk's code for a request that its transport could not send, or read the answer to"},
	"transport/internal/message/message.go": {-32005: "go-sdk's code for a message that its transport does not send, which stays in the process"},
	"prove/rules_result.go": {
		-32002: "a code that a server is condemned for", -32042: "a code that a server is condemned for",
		-32099: "the end of the range in which a server is condemned",
	},
}

// An error code of our own lies outside the range that the protocols reserve.
func TestNoCodeOfOursIsReserved(t *testing.T) {
	type place struct {
		path string
		code int
	}
	files, found := 0, map[place]bool{}
	check := func(path string, code int) {
		if code < -32768 || code > -32000 {
			return
		}
		found[place{path, code}] = true
		if definedCodes[code] == "" && codesThatAreNotOurs[path][code] == "" {
			t.Errorf("%s: the code %d is reserved: take one above -32000, or give the reason here", path, code)
		}
	}
	number := regexp.MustCompile(`-32\d{3}\b`)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "testdata" || entry.Name() == ".git"):
			return filepath.SkipDir
		case entry.IsDir(), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		switch filepath.Ext(path) {
		case ".go":
			files++
			return negatives(path, check)
		case ".js", ".mjs", ".ts", ".html":
			text, err := os.ReadFile(path)
			for _, digits := range number.FindAllString(string(text), -1) {
				code, _ := strconv.Atoi(digits)
				check(path, code)
			}
			return err
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 100)
	for path, codes := range codesThatAreNotOurs {
		for code := range codes {
			require.True(t, found[place{path, code}], "%s does not contain %d any more", path, code)
		}
	}
}

// negatives are the negative whole numbers in a Go file, written in any base.
func negatives(path string, check func(path string, code int)) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		minus, ok := n.(*ast.UnaryExpr)
		if !ok || minus.Op != token.SUB {
			return true
		}
		if literal, ok := minus.X.(*ast.BasicLit); ok && literal.Kind == token.INT {
			if value, err := strconv.ParseInt(literal.Value, 0, 64); err == nil {
				check(filepath.ToSlash(path), int(-value))
			}
		}
		return true
	})
	return nil
}

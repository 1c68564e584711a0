package weather

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/options"
)

// module is the path of this module, as the runtime names it.
var module = strings.TrimSuffix(reflect.TypeFor[options.Option]().PkgPath(), "options")

//go:embed weather.go
var own embed.FS

// folders hold the source of the styles.
var folders = map[string]fs.FS{"options": options.Source, "cmd/weather-demo/internal/weather": own}

// OfStyle reports whether the function of this name, as the runtime spells it, belongs to a
// style.
func OfStyle(function string) bool {
	if strings.Contains(function, ".(*Card).") {
		return false
	}
	for folder := range folders {
		if rest, ok := strings.CutPrefix(function, module+folder); ok && strings.ContainsAny(rest[:1], "./") {
			return true
		}
	}
	return false
}

// Source is the parsed source of the styles.
type Source struct {
	fset  *token.FileSet
	files map[string][]*ast.FuncDecl // the functions of each file, in order
	lines map[string][]string        // of each file
}

// ParseSource parses the embedded source.
func ParseSource() (*Source, error) {
	src := &Source{token.NewFileSet(), map[string][]*ast.FuncDecl{}, map[string][]string{}}
	for folder, files := range folders {
		if err := src.parse(folder, files); err != nil {
			return nil, err
		}
	}
	return src, nil
}

func (src *Source) parse(folder string, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		name = path.Join(folder, name)
		parsed, err := parser.ParseFile(src.fset, name, content, parser.ParseComments)
		if err != nil {
			return err
		}
		src.lines[name] = strings.Split(string(content), "\n")
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				src.files[name] = append(src.files[name], f)
			}
		}
		return nil
	})
}

// Excerpt is a part of a file.
type Excerpt struct {
	Path  string   `json:"path"`
	From  int      `json:"from"`
	Lines []string `json:"lines"`
}

// Excerpt returns the lines that a node stands on.
func (src *Source) Excerpt(n ast.Node) Excerpt {
	file, from, to := src.span(n)
	return Excerpt{file, from, src.lines[file][from-1 : to]}
}

// Lines are the numbers of the first and the last line of a node.
func (src *Source) Lines(n ast.Node) (from, to int) {
	_, from, to = src.span(n)
	return from, to
}

func (src *Source) span(n ast.Node) (file string, from, to int) {
	at := src.fset.Position(n.Pos())
	return at.Filename, at.Line, src.fset.Position(n.End()).Line
}

// Maker is the function that makes a style, such as options.Native.
func (src *Source) Maker(o options.Option) (*ast.FuncDecl, error) {
	full := runtime.FuncForPC(reflect.ValueOf(o.New).Pointer()).Name()
	dot := strings.LastIndex(full, ".")
	if made := src.function(strings.TrimPrefix(full[:dot], module), full[dot+1:]); made != nil {
		return made, nil
	}
	return nil, fmt.Errorf("%s is not in the embedded source", full)
}

// Beside lists the functions of the file that a function is in.
func (src *Source) Beside(f *ast.FuncDecl) []*ast.FuncDecl {
	file, _, _ := src.span(f)
	return src.files[file]
}

func (src *Source) function(dir, name string) *ast.FuncDecl {
	for file, funcs := range src.files {
		for _, f := range funcs {
			if path.Dir(file) == dir && f.Name.Name == name {
				return f
			}
		}
	}
	return nil
}

// Handler is a function of a style's author.
type Handler struct {
	Body   *ast.BlockStmt
	Shown  *ast.FuncDecl // the function that holds it
	Engine string        // the function that it is handed to: Native, Coroutine, Journal, Resumable or rerun
}

var engines = []string{"Native", "Coroutine", "Journal", "Resumable", "rerun"}

// Handlers lists the handlers in a function that makes a style: the function literals that
// it hands to an engine, itself or by a function that is called with the card alone.
func (src *Source) Handlers(made *ast.FuncDecl) (handlers []Handler) {
	file, _, _ := src.span(made)
	ast.Inspect(made.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !slices.Contains(engines, Called(call)) {
			return true
		}
		switch handed := call.Args[0].(type) {
		case *ast.FuncLit:
			handlers = append(handlers, Handler{handed.Body, made, Called(call)})
		case *ast.CallExpr:
			maker := src.function(path.Dir(file), Called(handed))
			returned := maker.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.FuncLit)
			handlers = append(handlers, Handler{returned.Body, maker, Called(call)})
		}
		return true
	})
	return handlers
}

// Called is the last word of a called name: Native in mrtr.Native(...).
func Called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// Pair is one line of each of two texts. A side is nil if only the other text has a line.
type Pair[T any] struct {
	Left, Right *T
	Same        bool
}

// Align pairs the lines of two texts: the longest common subsequence on equal lines, and
// the differing lines between them side by side.
func Align[T any](left, right []T, same func(a, b T) bool) (pairs []Pair[T]) {
	common := make([][]int, len(left)+1) // common[i][j] counts the lines that left[i:] and right[j:] share
	for i := range common {
		common[i] = make([]int, len(right)+1)
	}
	for i := len(left) - 1; i >= 0; i-- {
		for j := len(right) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); same(left[i], right[j]) {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var onlyLeft, onlyRight []*T
	flush := func() {
		for k := range max(len(onlyLeft), len(onlyRight)) {
			var p Pair[T]
			if k < len(onlyLeft) {
				p.Left = onlyLeft[k]
			}
			if k < len(onlyRight) {
				p.Right = onlyRight[k]
			}
			pairs = append(pairs, p)
		}
		onlyLeft, onlyRight = nil, nil
	}
	for i, j := 0, 0; i < len(left) || j < len(right); {
		switch {
		case i < len(left) && j < len(right) && same(left[i], right[j]):
			flush()
			pairs = append(pairs, Pair[T]{&left[i], &right[j], true})
			i, j = i+1, j+1
		case j == len(right) || i < len(left) && common[i+1][j] >= common[i][j+1]:
			onlyLeft = append(onlyLeft, &left[i])
			i++
		default:
			onlyRight = append(onlyRight, &right[j])
			j++
		}
	}
	flush()
	return pairs
}

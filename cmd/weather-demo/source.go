package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"

	"github.com/mrtr-go/sdk/options"
)

// source is the code of a style as compare shows it.
type source struct {
	file string
	doc  string   // the style's doc comment
	code []string // its functions without their doc comments
}

// sourceOf reads a style: the function that makes it, the other functions of its
// file, and last the handlers that it takes from another style's file. Names that
// only tell the styles apart are made equal: the function that makes the style is
// New, and the first handler that it names is handler.
func sourceOf(o options.Option) (source, error) {
	src := source{file: o.Name + ".go"}
	funcs, err := parseFile(src.file)
	dir := ""
	if err != nil {
		dir = "landmine/"
		if funcs, err = parseFile(dir + src.file); err != nil {
			return source{}, err
		}
	}
	src.file = "options/" + dir + src.file
	if len(funcs) == 0 || !ast.IsExported(funcs[0].name) {
		return source{}, fmt.Errorf("%s does not begin with the function that makes the style", src.file)
	}
	made := funcs[0]
	src.doc = made.doc
	rename := strings.NewReplacer("options.", "")
	if names := made.handlers; len(names) > 0 {
		rename = strings.NewReplacer("options.", "", names[0]+"(", "handler(")
		for _, name := range names {
			if shared, path, err := elsewhereDeclared(funcs, name); err != nil {
				return source{}, err
			} else if shared != nil {
				funcs = append(funcs, *shared)
				src.file += " and options/" + path
			}
		}
	}
	for i, f := range funcs {
		text := f.text
		if i == 0 {
			text = strings.Replace(text, "func "+f.name+"(", "func New(", 1)
		} else {
			src.code = append(src.code, "")
		}
		text = rename.Replace(strings.ReplaceAll(text, "\t", "  "))
		src.code = append(src.code, strings.Split(text, "\n")...)
	}
	return src, nil
}

// function is a function of a style's file.
type function struct {
	name, doc, text string
	handlers        []string // the functions of its package that it hands the audit
}

func parseFile(path string) ([]function, error) {
	raw, err := options.Source.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, raw, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var funcs []function
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			from, to := fset.Position(f.Pos()).Offset, fset.Position(f.End()).Offset
			funcs = append(funcs, function{f.Name.Name, strings.Join(strings.Fields(f.Doc.Text()), " "), string(raw[from:to]), handed(f)})
		}
	}
	return funcs, nil
}

// handed lists the functions that are called with the audit alone.
func handed(f *ast.FuncDecl) (names []string) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		name, named := call.Fun.(*ast.Ident)
		if arg, ok := call.Args[0].(*ast.Ident); ok && named && arg.Name == "audit" {
			names = append(names, name.Name)
		}
		return true
	})
	return names
}

// elsewhereDeclared finds a function in another file. It is nil if it is one of
// those given.
func elsewhereDeclared(given []function, name string) (*function, string, error) {
	for _, f := range given {
		if f.name == name {
			return nil, "", nil
		}
	}
	files, err := fs.Glob(options.Source, "*.go")
	if err != nil {
		return nil, "", err
	}
	for _, path := range files {
		funcs, err := parseFile(path)
		if err != nil {
			return nil, "", err
		}
		for _, f := range funcs {
			if f.name == name {
				return &f, path, nil
			}
		}
	}
	return nil, "", fmt.Errorf("no file declares %s", name)
}

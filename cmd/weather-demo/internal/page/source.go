package page

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"github.com/mrtr-go/sdk/options"
)

// style is a style as the page shows it.
type style struct {
	Letter   string    `json:"letter"`
	Name     string    `json:"name"`
	Tool     string    `json:"tool"`
	Lesson   string    `json:"lesson"`
	Group    string    `json:"group"`
	Wiring   excerpt   `json:"wiring"`
	Handlers []handler `json:"handlers"` // for modern clients, and for legacy ones where that is another
}

// excerpt is a part of a file.
type excerpt struct {
	Path  string   `json:"path"`
	From  int      `json:"from"`
	Lines []string `json:"lines"`
	Code  []string `json:"code,omitempty"` // of a wiring: its statements, each on one line
}

// handler is a function of a style's author, with the kinds of its lines.
type handler struct {
	excerpt
	Name   string `json:"name"`
	Engine string `json:"engine"` // that runs it: Native, Coroutine, Journal, Resumable, rerun, Steps
	parts  []part
}

// handlerFor is the handler that a client of this era reaches.
func (s style) handlerFor(legacy bool) handler {
	if legacy {
		return s.Handlers[len(s.Handlers)-1]
	}
	return s.Handlers[0]
}

// part is a function that the engine enters: the handler, or one of its steps.
type part struct {
	key  string // of a step, else ""
	body []statement
}

// statement is a line or several. Its kind gives its meaning for the way
// through the handler.
type statement struct {
	Kind       string `json:"kind"`
	From       int    `json:"from"`
	To         int    `json:"to"`
	key        string // of the question
	hasDefault bool   // whether the question has one
	body       []statement
}

// questions are the weather tool's, by the name they have in the handlers.
var questions = map[string]struct {
	key        string
	hasDefault bool
}{"which": {"place", false}, "Units": {"units", true}}

// sources are the parsed files of the styles.
type sources struct {
	fset  *token.FileSet
	funcs map[string]*ast.FuncDecl // by folder and name
	lines map[string][]string      // by path
}

func (h *Handler) serveSource(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, h.styles)
}

func readStyles() (styles []style, err error) {
	src, err := parseSources()
	if err != nil {
		return nil, err
	}
	for _, o := range everyStyle() {
		s, err := src.style(o)
		if err != nil {
			return nil, fmt.Errorf("page: reading the source of %s: %w", o.Name, err)
		}
		styles = append(styles, s)
	}
	return styles, nil
}

func parseSources() (*sources, error) {
	src := &sources{token.NewFileSet(), map[string]*ast.FuncDecl{}, map[string][]string{}}
	err := fs.WalkDir(options.Source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := options.Source.ReadFile(path)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(src.fset, path, content, 0)
		if err != nil {
			return err
		}
		src.lines[path] = strings.Split(string(content), "\n")
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				src.funcs[folder(path)+f.Name.Name] = f
			}
		}
		return nil
	})
	return src, err
}

func folder(path string) string { return path[:strings.LastIndex(path, "/")+1] }

func (src *sources) excerpt(n ast.Node) excerpt {
	from, to := src.fset.Position(n.Pos()), src.fset.Position(n.End())
	return excerpt{Path: "options/" + from.Filename, From: from.Line, Lines: src.lines[from.Filename][from.Line-1 : to.Line]}
}

// style reads the function that makes a style, and the handlers that it names:
// the functions of the package to which it hands the audit.
func (src *sources) style(o options.Option) (style, error) {
	s := style{Letter: o.Letter, Name: o.Name, Tool: o.Tool(), Lesson: o.Lesson, Group: group(o)}
	pkg, name := constructor(o)
	dir := strings.TrimPrefix(strings.TrimPrefix(pkg, optionsPath), "/")
	if dir != "" {
		dir += "/"
	}
	made := src.funcs[dir+name]
	if made == nil {
		return s, fmt.Errorf("%s.%s is not in the embedded source", pkg, name)
	}
	s.Wiring = src.excerpt(made)
	for _, stmt := range made.Body.List {
		code := strings.TrimSpace(strings.Join(src.excerpt(stmt).Lines, " "))
		s.Wiring.Code = append(s.Wiring.Code, strings.TrimPrefix(code, "return "))
	}
	var err error
	ast.Inspect(made.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || err != nil {
			return err == nil
		}
		for _, arg := range call.Args {
			inner, ok := arg.(*ast.CallExpr)
			if !ok {
				continue
			}
			id, ok := inner.Fun.(*ast.Ident)
			if !ok || src.funcs[dir+id.Name] == nil || len(inner.Args) != 1 || fmt.Sprint(inner.Args[0]) != "audit" {
				continue
			}
			var h handler
			if h, err = src.handler(src.funcs[dir+id.Name], called(call)); err != nil {
				return false
			}
			s.Handlers = append(s.Handlers, h)
		}
		return true
	})
	if err == nil && (len(s.Handlers) == 0 || len(s.Handlers) > 2) {
		err = fmt.Errorf("it has %d handlers", len(s.Handlers))
	}
	return s, err
}

// called is the last word of a called name: Native in mrtr.Native(...).
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

func (src *sources) handler(f *ast.FuncDecl, engine string) (handler, error) {
	h := handler{excerpt: src.excerpt(f), Name: f.Name.Name, Engine: engine}
	if engine == "Tool" { // a handler that is registered as it is was built from steps
		h.Engine = "Steps"
		return h, src.steps(&h, f)
	}
	ret, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return h, fmt.Errorf("%s does not begin by returning its handler", h.Name)
	}
	lit, ok := ret.Results[0].(*ast.FuncLit)
	if !ok {
		return h, fmt.Errorf("%s does not return a function literal", h.Name)
	}
	body, err := src.statements(lit.Body.List)
	h.parts = []part{{body: body}}
	return h, err
}

// steps reads the functions that are handed to the builder.
func (src *sources) steps(h *handler, f *ast.FuncDecl) (err error) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || err != nil || len(call.Args) == 0 {
			return err == nil
		}
		if called(call) == "AskQuestion" { // it has no function: the engine asks at this line
			var p part
			p, err = src.fixedStep(call)
			h.parts = append(h.parts, p)
			return false
		}
		lit, ok := call.Args[len(call.Args)-1].(*ast.FuncLit)
		if !ok {
			return true
		}
		p := part{key: "end"}
		if len(call.Args) > 1 {
			if name, ok := call.Args[len(call.Args)-2].(*ast.BasicLit); ok {
				p.key, err = strconv.Unquote(name.Value)
			}
		}
		if err != nil {
			return false
		}
		p.body, err = src.statements(lit.Body.List)
		h.parts = append(h.parts, p)
		return false
	})
	if err == nil && len(h.parts) == 0 {
		err = fmt.Errorf("%s has no steps", h.Name)
	}
	return err
}

// fixedStep reads a step that asks the same question in every call.
func (src *sources) fixedStep(call *ast.CallExpr) (part, error) {
	at := statement{Kind: "ask", From: src.fset.Position(call.Pos()).Line, To: src.fset.Position(call.End()).Line}
	if err := at.asks(call.Args[len(call.Args)-1]); err != nil {
		return part{}, err
	}
	return part{key: at.key, body: []statement{at}}, nil
}

func (src *sources) statements(list []ast.Stmt) ([]statement, error) {
	var read []statement
	for _, stmt := range list {
		s, err := src.statement(stmt)
		if err != nil {
			return nil, err
		}
		read = append(read, s)
	}
	return read, nil
}

func (src *sources) statement(stmt ast.Stmt) (s statement, err error) {
	s = statement{Kind: "plain", From: src.fset.Position(stmt.Pos()).Line, To: src.fset.Position(stmt.End()).Line}
	switch stmt := stmt.(type) {
	case *ast.ReturnStmt:
		s.Kind = "return"
	case *ast.IfStmt:
		cond := strings.TrimSpace(src.lines[src.fset.Position(stmt.Pos()).Filename][s.From-1])
		kinds := map[string]string{"if err != nil {": "if-err", "if !ok {": "if-missing", "if !c.Modern() {": "if-legacy"}
		if s.Kind = kinds[cond]; s.Kind == "" || stmt.Else != nil {
			return s, fmt.Errorf("line %d: the page does not know when %q holds", s.From, cond)
		}
		s.body, err = src.statements(stmt.Body.List)
	case *ast.AssignStmt, *ast.ExprStmt:
		ast.Inspect(stmt, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || err != nil {
				return err == nil
			}
			return src.call(&s, call, &err)
		})
	default:
		return s, fmt.Errorf("line %d: the page does not know this statement", s.From)
	}
	return s, err
}

// call notes the meaning of a call in a statement. It reports whether to look
// inside.
func (src *sources) call(s *statement, call *ast.CallExpr, err *error) bool {
	switch called(call) {
	case "Answer", "Ask":
		s.Kind = strings.ToLower(called(call))
		*err = s.asks(call.Args[len(call.Args)-1])
	case "AskOver":
		s.Kind = "over"
		*err = s.asks(call.Fun.(*ast.SelectorExpr).X)
	case "Record":
		s.Kind = "effect"
	case "Once":
		s.Kind = "once"
		lit, ok := call.Args[len(call.Args)-1].(*ast.FuncLit)
		if !ok {
			*err = fmt.Errorf("line %d: Once without a function literal", s.From)
			return false
		}
		s.body, *err = src.statements(lit.Body.List)
		return false
	}
	return true
}

func (s *statement) asks(question ast.Expr) error {
	name := ""
	switch q := question.(type) {
	case *ast.Ident:
		name = q.Name
	case *ast.SelectorExpr:
		name = q.Sel.Name
	}
	q, ok := questions[name]
	if !ok {
		return fmt.Errorf("line %d asks %q, which is no question of the weather tool", s.From, name)
	}
	s.key, s.hasDefault = q.key, q.hasDefault
	return nil
}

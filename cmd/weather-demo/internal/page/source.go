package page

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
)

// resumable is coroutine with the journal behind it: a switch on the page, and
// a tool of its own on the wire.
var resumable = options.Option{
	Letter: "HJ", Name: "resumable", Axis: options.SingleEffect, Lesson: "Held where it asks, and replayed where its handler is gone.", New: options.Resumable,
}

// everyStyle lists all that are served: the styles, coroutine's other form, the
// exhibits, and the styles that charge late: another switch.
func everyStyle() []options.Option {
	return slices.Concat(options.All, []options.Option{resumable}, landmine.All, weather.Late)
}

// group says under which heading the page offers a style.
func group(o options.Option) string {
	if slices.ContainsFunc(landmine.All, func(e options.Option) bool { return e.Name == o.Name }) {
		return "exhibit"
	}
	return string(o.Axis)
}

// style is a style as the page shows it.
type style struct {
	Letter   string    `json:"letter"`
	Name     string    `json:"name"`
	Tool     string    `json:"tool"`
	Lesson   string    `json:"lesson"`
	Group    string    `json:"group"`
	Late     bool      `json:"late"`     // whether its charge is moved into the last round
	Handlers []handler `json:"handlers"` // for modern clients, then for legacy ones if theirs differs
}

// handler is a function of a style's author, with the kinds of its lines.
type handler struct {
	weather.Excerpt        // of the function that holds it
	Engine          string `json:"engine"` // that runs it: Native, Coroutine, Journal, Resumable, rerun, Steps, Given
	parts           []part
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
	key  string // of a step or a question's function, else ""
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

// reader reads the styles from their source.
type reader struct{ *weather.Source }

func readStyles() (styles []style, err error) {
	src, err := weather.ParseSource()
	if err != nil {
		return nil, err
	}
	for _, o := range everyStyle() {
		s, err := reader{src}.style(o)
		if err != nil {
			return nil, fmt.Errorf("page: reading the source of %s: %w", o.Name, err)
		}
		styles = append(styles, s)
	}
	return styles, nil
}

// style reads the handlers in the function that makes a style.
func (src reader) style(o options.Option) (style, error) {
	s := style{Letter: o.Letter, Tool: o.Tool(), Lesson: o.Lesson, Group: group(o)}
	s.Name, s.Late = strings.TrimSuffix(o.Name, weather.LateSuffix), weather.ChargesLate(o)
	made, err := src.Maker(o)
	if err != nil {
		return s, err
	}
	for _, found := range src.Handlers(made) {
		body, err := src.statements(found.Body.List)
		if err != nil {
			return s, err
		}
		s.Handlers = append(s.Handlers, handler{src.Excerpt(found.Shown), found.Engine, []part{{body: body}}})
	}
	if len(s.Handlers) == 0 { // it is built from parts
		h := handler{Excerpt: src.Excerpt(made), Engine: "Steps"}
		if slices.ContainsFunc(h.Lines, func(line string) bool { return strings.Contains(line, "given.") }) {
			h.Engine = "Given"
		}
		s.Handlers = []handler{h}
		return s, src.parts(&s.Handlers[0], made)
	}
	if len(s.Handlers) > 2 {
		return s, fmt.Errorf("it has %d handlers", len(s.Handlers))
	}
	return s, nil
}

// parts reads the functions that the engine enters, each under its key.
func (src reader) parts(h *handler, f *ast.FuncDecl) (err error) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || err != nil || len(call.Args) == 0 {
			return err == nil
		}
		if weather.Called(call) == "Always" { // it has no function: the engine asks at this line
			var p part
			p, err = src.fixedStep(call)
			h.parts = append(h.parts, p)
			return false
		}
		lit, ok := call.Args[len(call.Args)-1].(*ast.FuncLit)
		if !ok {
			return true
		}
		p := part{key: map[string]string{"Steps": "end"}[h.Engine]}
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
		err = fmt.Errorf("%s has no parts", f.Name.Name)
	}
	return err
}

// fixedStep reads a step that asks the same question in every call.
func (src reader) fixedStep(call *ast.CallExpr) (part, error) {
	at := statement{Kind: "ask"}
	at.From, at.To = src.Lines(call)
	if err := at.asks(call.Args[len(call.Args)-1]); err != nil {
		return part{}, err
	}
	return part{key: at.key, body: []statement{at}}, nil
}

func (src reader) statements(list []ast.Stmt) ([]statement, error) {
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

func (src reader) statement(stmt ast.Stmt) (s statement, err error) {
	s.Kind = "plain"
	s.From, s.To = src.Lines(stmt)
	switch stmt := stmt.(type) {
	case *ast.ReturnStmt:
		s.Kind = "return"
	case *ast.IfStmt:
		cond := strings.TrimSpace(src.Excerpt(stmt).Lines[0])
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
func (src reader) call(s *statement, call *ast.CallExpr, err *error) bool {
	switch weather.Called(call) {
	case "Answer", "Ask":
		s.Kind = strings.ToLower(weather.Called(call))
		*err = s.asks(call.Args[len(call.Args)-1])
	case "AskOver":
		s.Kind = "over"
		*err = s.asks(call.Fun.(*ast.SelectorExpr).X)
	case "Charge":
		s.Kind = "effect"
	case "work":
		s.Kind = "work"
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

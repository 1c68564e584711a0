package vet

import (
	"go/constant"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// SessionAsk reports questions over the session in handlers that modern
// requests reach.
var SessionAsk = analyzer("sessionask", `report questions over the session in handlers that modern requests reach

On a session of revision 2026-07-28, Elicit, CreateMessage, CreateMessageWithTools
and ListRoots of *mcp.ServerSession return an error. So do (mrtr.Question).AskOver
and sse.Ask. The tool fails for every client that is up to date.

	answer, err := req.Session.Elicit(ctx, question) // an error for modern clients

Return the question instead, or use linear.Ask, which serves both:

	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": question}}, nil, nil

To ask legacy clients over their session, look at the revision first:
era.Of(req) != era.Legacy, (*mrtr.Call).Modern, or the protocol version. Any such
condition counts as the check, and the legacy style of mrtr.ByVersion needs none.

It judges what is registered as a tool, prompt or resource, or given to a style of
mrtr, if the module's go-sdk is v1.7.0 or later.`, runSessionAsk)

// sessionAsks call back into the client.
var sessionAsks = names{
	mcpPath + ".ServerSession.Elicit", mcpPath + ".ServerSession.CreateMessage",
	mcpPath + ".ServerSession.CreateMessageWithTools", mcpPath + ".ServerSession.ListRoots",
	mrtrPath + ".Question.AskOver", ssePath + ".Ask",
}

var (
	// registrations take a handler as their last argument.
	registrations = names{
		mcpPath + ".AddTool", mcpPath + ".Server.AddTool", mcpPath + ".Server.AddPrompt",
		mcpPath + ".Server.AddResource", mcpPath + ".Server.AddResourceTemplate",
	}
	bridges = names{ssePath + ".Bridge*"}
	// styles take a handler, which is their one argument that is a function.
	styles = names{
		mrtrPath + ".Native", linearPath + ".Coroutine", linearPath + ".Journal", linearPath + ".Resumable",
		givenPath + ".Handler", givenPath + ".Handler2", givenPath + ".All",
	}
	byVersion = names{mrtrPath + ".ByVersion"}
)

func runSessionAsk(p *program, r *reporter) {
	if !p.servesModern() {
		return
	}
	h := handlers{program: p, reporter: r}
	for _, call := range each[*ssa.Call](p) {
		if !r.counts(call.Pos()) {
			continue
		}
		args := argsOf(call)
		switch named := calledFunc(call); {
		case len(args) == 0:
		case registrations.has(named):
			h.registered(args[len(args)-1])
		case styles.has(named) && !legacyOnly(call):
			for _, arg := range args {
				if _, isFunc := arg.Type().Underlying().(*types.Signature); isFunc {
					h.registered(arg)
				}
			}
		}
	}
}

// servesModern reports whether the module's go-sdk has revision 2026-07-28: then it has
// the questions that a result returns.
func (p *program) servesModern() bool {
	for _, imported := range p.pass.Pkg.Imports() {
		if imported.Path() == mcpPath {
			return imported.Scope().Lookup("InputRequestMap") != nil
		}
	}
	return true // it asks through mrtr, which needs such a go-sdk
}

// legacyOnly reports whether a style is given to ByVersion, as its legacy one,
// and to nothing else.
func legacyOnly(style *ssa.Call) bool {
	uses := *style.Referrers()
	for _, use := range uses {
		call, ok := use.(*ssa.Call)
		if !ok || !byVersion.has(calledFunc(call)) || len(call.Call.Args) != 2 ||
			call.Call.Args[0] == style || call.Call.Args[1] != style {
			return false
		}
	}
	return len(uses) > 0
}

type handlers struct {
	*program
	*reporter
}

func (h *handlers) registered(handler ssa.Value) {
	for _, f := range h.functions(handler) {
		h.handler(f)
	}
	for _, v := range h.origins(handler) {
		if call, ok := v.(*ssa.Call); ok && bridges.has(calledFunc(call)) {
			h.registered(call.Call.Args[0])
		}
	}
}

// handler looks at the code that modern requests reach: a function, and those it calls
// without having looked at the revision.
func (h *handlers) handler(f *ssa.Function) {
	for call := range h.reach(f, func(call ssa.CallInstruction) bool { return !h.placed(call.Block()) }) {
		if named := h.behindInterface(call); sessionAsks.has(named) {
			h.report(call.Pos(), "%s in a handler that modern requests reach: it fails for clients of revision 2026-07-28 and later; return the question as an input request, or look at the revision first", shortNameOf(named))
		}
	}
}

// behindInterface is the function that a call names, or the method of the session that
// it reaches through an interface.
func (h *handlers) behindInterface(call ssa.CallInstruction) *types.Func {
	named := calledFunc(call)
	if !call.Common().IsInvoke() {
		return named
	}
	for _, v := range h.origins(call.Common().Value) {
		if made, ok := v.(*ssa.MakeInterface); ok && isType(made.X.Type(), mcpPath, "ServerSession") {
			method, _, _ := types.LookupFieldOrMethod(made.X.Type(), true, nil, named.Name())
			named, _ = method.(*types.Func)
		}
	}
	return named
}

// placed reports whether a block is entered only after a condition that looks
// at the revision, or that may.
func (p *program) placed(block *ssa.BasicBlock) bool {
	for _, d := range decided(block) {
		if p.looksAtRevision(d.cond, map[ssa.Value]bool{}) {
			return true
		}
	}
	return false
}

var errorType = types.Universe.Lookup("error").Type()

var revision = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)

func (p *program) looksAtRevision(v ssa.Value, seen map[ssa.Value]bool) bool {
	if v == nil || seen[v] || types.Unalias(v.Type()) == errorType {
		return false
	}
	seen[v] = true
	if _, name, _ := field(v); name == "ProtocolVersion" {
		return true
	}
	switch v := v.(type) {
	case *ssa.Const:
		return v.Value != nil && v.Value.Kind() == constant.String && revision.MatchString(constant.StringVal(v.Value))
	case *ssa.Call:
		return p.mayPlace(v, seen)
	case *ssa.Extract:
		if call, ok := v.Tuple.(*ssa.Call); ok {
			return p.mayPlace(call, seen)
		}
	}
	instr, ok := v.(ssa.Instruction)
	if !ok {
		return false
	}
	for _, operand := range instr.Operands(nil) {
		if *operand != nil && p.looksAtRevision(*operand, seen) {
			return true
		}
	}
	return false
}

// mayPlace reports whether the value of a call may tell the revision: a
// function that is for it, one of this package that looks at it, or any of
// another package that sees the request or the session.
func (p *program) mayPlace(call *ssa.Call, seen map[ssa.Value]bool) bool {
	named := calledFunc(call)
	if named != nil && named.Pkg() != nil {
		switch path := named.Pkg().Path(); path {
		case eraPath:
			return true
		case mrtrPath:
			return named.Name() == "Modern"
		case mcpPath:
			return strings.HasSuffix(nameOf(named), ".ProtocolVersion") || named.Name() == "InitializeParams"
		}
	}
	for _, f := range p.callees(call) {
		for instr := range in[ssa.Instruction](f) {
			if v, ok := instr.(ssa.Value); ok && p.looksAtRevision(v, seen) {
				return true
			}
		}
	}
	if len(p.callees(call)) > 0 {
		return false
	}
	for _, arg := range call.Call.Args {
		if isType(arg.Type(), mcpPath, "ServerRequest", "ServerSession", "InitializeParams") || isType(arg.Type(), mrtrPath, "Call") {
			return true
		}
	}
	return false
}

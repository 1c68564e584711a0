package vet

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// UnsealedState reports a RequestState that a client could have written.
var UnsealedState = analyzer("unsealedstate", `report a RequestState that is trusted or written without a seal

The client keeps the state between two rounds, and may send back anything: a later
step, somebody else's order, a price of its own.

	json.Unmarshal([]byte(req.Params.RequestState), &order) // the client's order
	if req.Params.RequestState == "paid" { ... }            // says the client

Seal the state, bound to the request and the user, and open it as it comes back:

	payload, err := codec.Open(binding, req.Params.RequestState)

statecodec is the codec alone. With mrtr, keep values in mrtr.Once or the answers.

It reports a state that is decoded, parsed, compared or written into a result as it
came, and one made of plain values. A state that any other function takes or returns
counts as checked or sealed.`, runUnsealedState)

func runUnsealedState(p *program, r *reporter) {
	s := states{program: p, reads: map[*ssa.Function][]read{}}
	for f, instr := range each[ssa.Instruction](p) {
		if v, ok := instr.(ssa.Value); ok && readsState(v) {
			t := taint{program: p, seen: map[ssa.Value]bool{}}
			t.flow(v)
			whole := outermost(f)
			s.reads[whole] = append(s.reads[whole], read{v, t})
		}
		if store, ok := instr.(*ssa.Store); ok && isStateOf(store.Addr, stateResults) {
			m := makeup{program: p, seen: map[ssa.Value]bool{}}
			m.look(store.Val)
			if m.data && !m.unknown {
				r.report(store.Pos(), "RequestState is set to plain data: the client can read it, and write another; seal it with statecodec, or let mrtr carry it")
			}
		}
	}
	for _, f := range p.funcs {
		if len(s.reads[f]) == 0 || s.checks(f) {
			continue
		}
		for _, read := range s.reads[f] {
			if t := read.taint; t.trust != "" {
				r.report(read.state.Pos(), "RequestState is %s on line %d as it came, without a seal: a client may write anything into it", t.trust, r.line(t.at))
			}
		}
	}
}

// states are the reads of a state, by the function they stand in. A handler may
// read it twice, to check it and to use it.
type states struct {
	*program
	reads map[*ssa.Function][]read
}

type read struct {
	state ssa.Value
	taint taint
}

func outermost(f *ssa.Function) *ssa.Function {
	for f.Parent() != nil {
		f = f.Parent()
	}
	return f
}

// checks reports whether a function gives a state to something that may check
// it: the state itself, or the request that it is in.
func (s *states) checks(f *ssa.Function) bool {
	itself := func(f *ssa.Function) bool {
		return slices.ContainsFunc(s.reads[f], func(r read) bool { return r.taint.checked })
	}
	if itself(f) {
		return true
	}
	for call := range s.reach(f, givesRequest) {
		callees, named := s.callees(call), calledFunc(call)
		if slices.ContainsFunc(callees, itself) || len(callees) == 0 && !indifferent.has(named) && !mentions.has(named) {
			return true
		}
	}
	return false
}

func givesRequest(call ssa.CallInstruction) bool {
	for _, arg := range call.Common().Args {
		if isType(arg.Type(), mcpPath, "ServerRequest") || isType(arg.Type(), mcpPath, stateParams...) {
			return true
		}
	}
	return false
}

// indifferent are functions that see a request and not its state.
var indifferent = names{eraPath + ".*", mcpPath + ".*"}

var (
	stateParams  = []string{"CallToolParams", "CallToolParamsRaw", "GetPromptParams", "ReadResourceParams"}
	stateResults = []string{"CallToolResult", "GetPromptResult", "ReadResourceResult"}
)

func isStateOf(v ssa.Value, structs []string) bool {
	of, name, _ := field(v)
	return name == "RequestState" && isType(of, mcpPath, structs...)
}

// readsState reports whether v is the state that came in, not its address.
func readsState(v ssa.Value) bool {
	_, address := v.(*ssa.FieldAddr)
	return !address && isStateOf(v, stateParams)
}

// formatters turn their arguments into text, and add no seal to it.
var formatters = names{
	"fmt.Sprint*", "fmt.Append*", "strconv.Itoa", "strconv.Format*", "strconv.Quote*", "strconv.Append*",
	"encoding/base64.Encoding.EncodeToString", "encoding/hex.EncodeToString",
	"encoding/json.Marshal", "encoding/json.MarshalIndent",
	"strings.Join", "strings.To*", "strings.Trim*", "strings.Replace*", "strings.Repeat",
}

// makeup takes apart the value that a RequestState is set to.
type makeup struct {
	*program
	seen    map[ssa.Value]bool
	data    bool // there is something in it that a client could write
	unknown bool // there is something in it that may be a seal
}

func (m *makeup) look(v ssa.Value) {
	for _, v := range m.origins(v) {
		if m.seen[v] {
			continue
		}
		m.seen[v] = true
		m.part(v)
	}
}

func (m *makeup) part(v ssa.Value) {
	if basic, ok := v.Type().Underlying().(*types.Basic); ok && basic.Info()&(types.IsNumeric|types.IsBoolean) != 0 {
		if _, fixed := v.(*ssa.Const); !fixed {
			m.data = true
		}
		return
	}
	switch v := v.(type) {
	case *ssa.Const:
		return
	case *ssa.MakeInterface:
		m.look(v.X)
		return
	case *ssa.BinOp:
		if v.Op == token.ADD {
			m.look(v.X)
			m.look(v.Y)
			return
		}
	case *ssa.Slice:
		if array, ok := v.X.(*ssa.Alloc); ok {
			m.elements(array)
			return
		}
	case *ssa.Call:
		m.call(v)
		return
	case *ssa.Extract:
		if call, ok := v.Tuple.(*ssa.Call); ok {
			m.call(call)
			return
		}
	case *ssa.UnOp:
		if variable, ok := v.X.(*ssa.Alloc); ok && v.Op == token.MUL {
			m.elements(variable)
			return
		}
	}
	switch {
	case readsState(v): // a state that came in is passed on
	case m.answer(v, func(ssa.Value) bool { return false }, map[ssa.Value]bool{}) != "" || m.argument(v):
		m.data = true
	default:
		m.unknown = true
	}
}

func (m *makeup) call(call *ssa.Call) {
	if !formatters.has(calledFunc(call)) {
		m.unknown = true
		return
	}
	for _, arg := range argsOf(call) {
		m.look(arg)
	}
}

// elements looks at everything that is put into a composite value.
func (m *makeup) elements(variable *ssa.Alloc) {
	found := false
	for _, use := range *variable.Referrers() {
		var at ssa.Value
		switch use := use.(type) {
		case *ssa.FieldAddr:
			at = use
		case *ssa.IndexAddr:
			at = use
		case *ssa.Store:
			if use.Addr == variable {
				found = true
				m.look(use.Val)
			}
			continue
		case *ssa.UnOp, *ssa.Slice, *ssa.DebugRef:
			continue
		default:
			m.unknown = true // somebody else may write there
			continue
		}
		for _, v := range storedAt(at) {
			found = true
			m.look(v)
		}
	}
	m.unknown = m.unknown || !found
}

// argument reports whether a value is the typed input of a tool handler, or a
// field of it.
func (m *makeup) argument(v ssa.Value) bool {
	for range 8 { // fields of fields
		if _, _, base := field(v); base != nil {
			v = base
			continue
		}
		break
	}
	if variable, ok := v.(*ssa.Alloc); ok { // a parameter whose fields are addressed
		for _, stored := range storedAt(variable) {
			v = stored
		}
	}
	param, ok := v.(*ssa.Parameter)
	return ok && isInputBehind(param, mcpPath, "ServerRequest")
}

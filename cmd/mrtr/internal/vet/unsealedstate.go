package vet

import (
	"golang.org/x/tools/go/ssa"
)

// UnsealedState reports a RequestState that a client could have written.
var UnsealedState = analyzer("unsealedstate", `report a RequestState that is trusted or written without a seal

The client keeps the state between two rounds and may send back anything: a
later step than it has reached, somebody else's order, a price of its own. A
handler that reads it as it comes obeys whatever the client writes into it.

	json.Unmarshal([]byte(req.Params.RequestState), &order) // the client's order
	if req.Params.RequestState == "paid" { ... }            // says the client

Seal the state as it goes out and open it as it comes back, bound to the request and the user:

	payload, err := codec.Open(binding, req.Params.RequestState)

mrtr does it by itself: leave the state to it, and keep values in mrtr.Once or
the answers. statecodec is the codec alone.

Reading is reported where the state, as it came, is decoded, parsed, compared
with a constant or written into the text of a result. Writing is reported where
everything in it is plain: answers, arguments, numbers, formatted or encoded. A
state that any other function has seen counts as checked, and one that came out
of any other function as sealed. A constant that nothing reads is harmless.`, runUnsealedState)

func runUnsealedState(p *program, r *reporter) {
	s := states{program: p, reads: map[*ssa.Function][]read{}}
	for _, f := range p.funcs {
		for _, instr := range instructions(f) {
			if v, ok := instr.(ssa.Value); ok && isStateOf(v, stateParams) && isRead(v) {
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
	}
	for _, f := range p.funcs {
		if len(s.reads[f]) == 0 || s.checks(f, map[*ssa.Function]bool{}) {
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
func (s *states) checks(f *ssa.Function, seen map[*ssa.Function]bool) bool {
	if seen[f] {
		return false
	}
	seen[f] = true
	for _, read := range s.reads[f] {
		if read.taint.checked {
			return true
		}
	}
	for _, instr := range instructions(f) {
		call, ok := instr.(ssa.CallInstruction)
		if !ok || !givesRequest(call) {
			continue
		}
		callees := s.callees(call)
		for _, g := range callees {
			if s.checks(g, seen) {
				return true
			}
		}
		if named := calledFunc(call); len(callees) == 0 && !indifferent.has(named) && !mentions.has(named) {
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

// isRead reports whether v is the state itself, not its address.
func isRead(v ssa.Value) bool {
	_, address := v.(*ssa.FieldAddr)
	return !address
}

package vet

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

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
	case isStateOf(v, stateParams) && isRead(v): // a state that came in is passed on
	case m.answer(v, map[ssa.Value]bool{}) != "" || m.argument(v):
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
		for _, use := range *at.Referrers() {
			if store, ok := use.(*ssa.Store); ok && store.Addr == at {
				found = true
				m.look(store.Val)
			}
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
		for _, use := range *variable.Referrers() {
			if store, ok := use.(*ssa.Store); ok && store.Addr == variable {
				v = store.Val
			}
		}
	}
	param, ok := v.(*ssa.Parameter)
	if !ok {
		return false
	}
	params := param.Parent().Signature.Params()
	return params.Len() == 3 && isType(params.At(1).Type(), mcpPath, "ServerRequest") &&
		len(param.Parent().Params) > 0 && param == param.Parent().Params[len(param.Parent().Params)-1]
}

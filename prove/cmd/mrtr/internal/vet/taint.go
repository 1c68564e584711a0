package vet

import (
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

var (
	// carriers give back their argument, spelled otherwise or in part.
	carriers = names{
		"encoding/base64.Encoding.Decode*", "encoding/base64.Encoding.AppendDecode", "encoding/hex.Decode*",
		"strings.Cut*", "strings.Split*", "strings.Fields*", "strings.Trim*", "strings.To*", "strings.Replace*", "strings.Clone",
		"bytes.Cut*", "bytes.Split*", "bytes.Fields*", "bytes.Trim*", "bytes.Clone",
		"strings.NewReader", "bytes.NewReader", "bytes.NewBuffer*",
		"fmt.Sprint*", "net/url.QueryUnescape", "net/url.PathUnescape",
	}
	// decoders believe their argument.
	decoders = names{
		"encoding/json.Unmarshal", "encoding/json.NewDecoder", "encoding/gob.NewDecoder", "encoding/xml.Unmarshal",
		"strconv.Atoi", "strconv.Parse*", "fmt.Sscan*", "net/url.ParseQuery", "time.Parse", "time.ParseDuration",
	}
	// matchers compare with a constant, when they are given one.
	matchers = names{
		"strings.HasPrefix", "strings.HasSuffix", "strings.Contains", "strings.EqualFold", "bytes.HasPrefix", "bytes.HasSuffix",
	}
	// mentions neither trust their argument nor check it.
	mentions = names{"fmt.Errorf", "errors.New", "fmt.Print*", "log.*", "log/slog.*"}
)

// taint follows a state forward, from where it is read.
type taint struct {
	*program
	seen    map[ssa.Value]bool
	trust   string // how it is used unchecked
	at      token.Pos
	checked bool // something that may check it has seen it
}

func (t *taint) flow(v ssa.Value) {
	if t.seen[v] || t.checked || types.Unalias(v.Type()) == errorType {
		return
	}
	t.seen[v] = true
	for use := range users[ssa.Instruction](v) {
		t.use(v, use)
	}
}

func (t *taint) trusted(how string, at token.Pos) {
	if t.trust == "" && at.IsValid() {
		t.trust, t.at = how, at
	}
}

func (t *taint) use(v ssa.Value, use ssa.Instruction) {
	switch use := use.(type) {
	case *ssa.Phi, *ssa.ChangeType, *ssa.Convert, *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.Slice,
		*ssa.Extract, *ssa.UnOp, *ssa.Index, *ssa.IndexAddr, *ssa.Range, *ssa.Next:
		t.flow(use.(ssa.Value))
	case *ssa.Lookup:
		if use.X == v { // a byte of it
			t.flow(use)
		} else { // a key to values of the server's own
			t.checked = true
		}
	case *ssa.BinOp:
		t.operator(v, use)
	case *ssa.Store:
		t.stored(v, use)
	case *ssa.Return:
		t.returned(v, use)
	case ssa.CallInstruction:
		t.call(v, use)
	case *ssa.If, *ssa.DebugRef:
	default:
		t.checked = true // it goes where nobody can follow
	}
}

func (t *taint) operator(v ssa.Value, op *ssa.BinOp) {
	other := op.X
	if other == v {
		other = op.Y
	}
	switch op.Op {
	case token.ADD:
		t.flow(op)
	case token.EQL, token.NEQ:
		c, ok := other.(*ssa.Const)
		switch {
		case !ok:
			t.checked = true // against something the server knows
		case c.Value != nil && c.Value.Kind() == constant.String && constant.StringVal(c.Value) != "":
			t.trusted("compared with a constant", op.Pos())
		}
	}
}

// stored follows a state into a variable, or into a field that no other package can
// name. Any other field is beyond what can be followed, but for the two that a result shows.
func (t *taint) stored(v ssa.Value, store *ssa.Store) {
	if store.Val != v {
		return // an address that the state came from
	}
	switch addr := store.Addr.(type) {
	case *ssa.IndexAddr: // the arguments of a variadic call
		if array, ok := addr.X.(*ssa.Alloc); ok {
			for slice := range users[*ssa.Slice](array) {
				t.flow(slice)
			}
			return
		}
		t.checked = true
	case *ssa.FieldAddr:
		of, name, _ := field(addr)
		switch {
		case isStateOf(addr, stateResults):
		case name == "Text" && isType(of, mcpPath, "TextContent"):
			t.trusted("written into a result", store.Pos())
		default:
			t.field(addr)
		}
	default:
		uses := t.variableUses(store.Addr)
		if len(uses) == 0 {
			t.checked = true
		}
		for _, use := range uses {
			if load, ok := use.(*ssa.UnOp); ok {
				t.flow(load)
			}
		}
	}
}

// field follows a state to where its field is read.
func (t *taint) field(addr *ssa.FieldAddr) {
	found := false
	for _, other := range t.fields[t.ownField(addr)] {
		for _, use := range *other.Referrers() {
			switch use := use.(type) {
			case *ssa.UnOp:
				found = true
				t.flow(use)
			case *ssa.Store, *ssa.DebugRef:
			default:
				t.checked = true // its address goes somewhere
			}
		}
	}
	t.checked = t.checked || !found
}

// returned follows a state to those who call the function that returns it.
func (t *taint) returned(v ssa.Value, ret *ssa.Return) {
	f := ret.Parent()
	if t.escaped[f] || len(t.calls[f]) == 0 || f.Object() != nil && f.Object().Exported() {
		t.checked = true
		return
	}
	for _, call := range t.calls[f] {
		result, ok := call.(*ssa.Call)
		switch {
		case !ok:
		case len(ret.Results) == 1:
			t.flow(result)
		default:
			for part := range users[*ssa.Extract](result) {
				if ret.Results[part.Index] == v {
					t.flow(part)
				}
			}
		}
	}
}

func (t *taint) call(v ssa.Value, call ssa.CallInstruction) {
	result, _ := call.(*ssa.Call)
	if builtin, ok := call.Common().Value.(*ssa.Builtin); ok {
		if result != nil && builtin.Name() == "append" {
			t.flow(result)
		}
		return
	}
	named := calledFunc(call)
	switch {
	case mentions.has(named), writers.has(named) && toFile(call):
	case decoders.has(named):
		t.trusted("decoded by "+shortNameOf(named), call.Pos())
		if !strings.HasSuffix(named.Name(), "NewDecoder") {
			t.target(call)
		} else if result != nil { // its methods decode
			for decode := range users[ssa.CallInstruction](result) {
				t.target(decode)
			}
		}
	case matchers.has(named):
		if matchesConstant(v, call) {
			t.trusted("compared with a constant", call.Pos())
		}
	case carriers.has(named) && result != nil:
		t.flow(result)
	default:
		f := t.local(call.Common().StaticCallee())
		if f == nil {
			t.checked = true
			return
		}
		for i, arg := range call.Common().Args {
			if arg == v && i < len(f.Params) {
				t.flow(f.Params[i])
			}
		}
	}
}

// target looks whether the value that a state is decoded into is checked
// afterwards: given away as a whole, compared with a value of the server's own, or
// given in part to a function that may check it.
func (t *taint) target(call ssa.CallInstruction) {
	for _, arg := range argsOf(call) {
		made, ok := arg.(*ssa.MakeInterface)
		if !ok {
			continue
		}
		variable, ok := made.X.(*ssa.Alloc)
		if !ok {
			t.checked = t.checked || !isConstant(made.X)
			continue
		}
		for _, use := range *variable.Referrers() {
			switch use := use.(type) {
			case ssa.CallInstruction:
				t.checked = true // a method of it, or a function that gets its address
			case *ssa.UnOp:
				for range users[ssa.CallInstruction](use) {
					t.checked = true
				}
			case *ssa.FieldAddr:
				for load := range users[*ssa.UnOp](use) {
					t.checked = t.checked || compared(load)
				}
			case *ssa.Store:
				t.checked = t.checked || use.Val == variable
			}
		}
	}
}

var checkers = regexp.MustCompile(`(?i)verif|valid|check|open|unseal|decrypt|auth|sign|mac|equal|compare`)

// compared reports whether a part of a decoded state is compared with a value of
// the server's own.
func compared(part *ssa.UnOp) bool {
	for _, use := range *part.Referrers() {
		switch use := use.(type) {
		case *ssa.BinOp:
			if isComparison(use) && !isConstant(use.X) && !isConstant(use.Y) {
				return true
			}
		case ssa.CallInstruction:
			if f := calledFunc(use); f == nil || checkers.MatchString(shortNameOf(f)) {
				return true
			}
		}
	}
	return false
}

func matchesConstant(v ssa.Value, call ssa.CallInstruction) bool {
	return slices.ContainsFunc(call.Common().Args, func(arg ssa.Value) bool { return arg != v && isConstant(arg) })
}

func isConstant(v ssa.Value) bool {
	if c, ok := v.(*ssa.Convert); ok {
		v = c.X
	}
	_, ok := v.(*ssa.Const)
	return ok
}

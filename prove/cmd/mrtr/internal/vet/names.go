package vet

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// The packages that the analyzers know. Functions are known by package path and
// name, so that a program is judged without loading their sources.
const (
	mcpPath  = "github.com/modelcontextprotocol/go-sdk/mcp"
	sdkPath  = "github.com/mrtr-go/sdk"
	mrtrPath = sdkPath + "/mrtr"
	ssePath  = sdkPath + "/sse"
	eraPath  = sdkPath + "/sse/era"

	linearPath = mrtrPath + "/linear"
	stepsPath  = mrtrPath + "/steps"
	givenPath  = mrtrPath + "/given"
)

// names is a set of functions and methods, each written as a package path, a
// dot and a name: "time.Now", "database/sql.DB.Exec". A name that ends in * is
// the beginning of several.
type names []string

func (n names) has(f *types.Func) bool {
	if f == nil {
		return false
	}
	full := nameOf(f)
	for _, name := range n {
		if prefix, open := strings.CutSuffix(name, "*"); open && strings.HasPrefix(full, prefix) || name == full {
			return true
		}
	}
	return false
}

// nameOf is the name of a function as [names] writes it.
func nameOf(f *types.Func) string {
	name := f.Name()
	if recv := f.Signature().Recv(); recv != nil {
		if named := namedOf(recv.Type()); named != nil {
			name = named.Obj().Name() + "." + name
		}
	}
	if f.Pkg() == nil {
		return name
	}
	return f.Pkg().Path() + "." + name
}

// shortNameOf is the name of a function as a call spells it.
func shortNameOf(f *types.Func) string {
	full := nameOf(f)
	return full[strings.LastIndex(full, "/")+1:]
}

// calledFunc is the function or method that a call names, whatever its package,
// nil for a call of a function value.
func calledFunc(call ssa.CallInstruction) *types.Func {
	common := call.Common()
	if common.IsInvoke() {
		return common.Method
	}
	f := common.StaticCallee()
	if f == nil {
		return nil
	}
	if f.Origin() != nil {
		f = f.Origin()
	}
	object, _ := f.Object().(*types.Func)
	return object
}

// argsOf are the arguments of a call without its receiver.
func argsOf(call ssa.CallInstruction) []ssa.Value {
	common := call.Common()
	if !common.IsInvoke() && common.Signature().Recv() != nil && len(common.Args) > 0 {
		return common.Args[1:]
	}
	return common.Args
}

func namedOf(t types.Type) *types.Named {
	if t == nil {
		return nil
	}
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// isType reports whether t, or the type it points to, is one of the named types
// of a package.
func isType(t types.Type, path string, typeNames ...string) bool {
	named := namedOf(t)
	if named == nil || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != path {
		return false
	}
	return slices.Contains(typeNames, named.Obj().Name())
}

// field is the struct and the field that a value selects, or that an address
// is the address of.
func field(v ssa.Value) (of types.Type, name string, base ssa.Value) {
	var index int
	switch v := v.(type) {
	case *ssa.FieldAddr:
		base, index = v.X, v.Field
	case *ssa.Field:
		base, index = v.X, v.Field
	case *ssa.UnOp:
		if addr, ok := v.X.(*ssa.FieldAddr); ok {
			return field(addr)
		}
		return nil, "", nil
	default:
		return nil, "", nil
	}
	of = base.Type()
	under := of.Underlying()
	if pointer, ok := under.(*types.Pointer); ok {
		under = pointer.Elem().Underlying()
	}
	s, ok := under.(*types.Struct)
	if !ok {
		return nil, "", nil
	}
	return of, s.Field(index).Name(), base
}

// textOf is the text of a string constant, "" for any other value.
func textOf(v ssa.Value) string {
	if c, ok := v.(*ssa.Const); ok && c.Value != nil && c.Value.Kind() == constant.String {
		return constant.StringVal(c.Value)
	}
	return ""
}

func isNil(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}

func isComparison(op *ssa.BinOp) bool { return op.Op == token.EQL || op.Op == token.NEQ }

// endsProgram are functions that do not return.
var endsProgram = names{
	"os.Exit", "runtime.Goexit", "syscall.Exit",
	"log.Fatal*", "log.Panic*", "log.Logger.Fatal*", "log.Logger.Panic*",
	"testing.common.Fatal*", "testing.common.FailNow", "testing.common.Skip*",
}

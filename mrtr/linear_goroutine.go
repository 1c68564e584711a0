package mrtr

import (
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
)

// onLinearRun reports whether it is called on the goroutine of a linear run, and
// not on one that the handler started: whether the stack begins with main. A
// question asked elsewhere would wait where the engine can neither wake nor
// unwind it.
func onLinearRun() bool {
	var few [8]uintptr
	pcs := few[:]
	n := runtime.Callers(3, pcs) // from await's caller on
	for n == len(pcs) {
		pcs = make([]uintptr, 8*len(pcs))
		n = runtime.Callers(3, pcs)
	}
	bottom := pcs[max(0, n-3):n] // goexit is last, a wrapper may be before it
	return slices.Contains(bottom, bodyCall.Load()) || slices.ContainsFunc(bottom, isMain)
}

// bodyCall is the one place where main calls its body, once that is known. It
// saves a search through the program's functions, and the stack for it, which
// each parked handler would keep.
var bodyCall atomic.Uintptr

func isMain(pc uintptr) bool {
	f := runtime.FuncForPC(pc - 1)
	if f == nil || f.Entry() != mainEntry {
		return false
	}
	bodyCall.Store(pc)
	return true
}

var mainEntry = reflect.ValueOf((*linearRun).main).Pointer()

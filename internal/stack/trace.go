// Package stack prepares and describes the stack of a goroutine.
package stack

import (
	"runtime"
	"strconv"
)

// maxFrames bounds a trace. The first frames show a recursion without end.
const maxFrames = 128

// Trace describes, for a log, the calls of the goroutine that calls it, innermost first, without
// skip of them: 0 begins with the caller of Trace. It has their functions, files and
// lines only. The traces of the runtime ([runtime/debug.Stack], for one) also show
// the words that the functions were called with, which are the values, or the
// addresses, of whatever a client sent.
func Trace(skip int) []byte {
	var pcs [maxFrames + 1]uintptr
	n := runtime.Callers(skip+2, pcs[:]) // without Callers and Trace
	more := n > maxFrames
	trace := make([]byte, 0, 2048)
	frames := runtime.CallersFrames(pcs[:min(n, maxFrames)])
	for n > 0 {
		frame, another := frames.Next()
		trace = append(trace, frame.Function...)
		trace = append(trace, "\n\t"...)
		trace = append(trace, frame.File...)
		trace = append(trace, ':')
		trace = strconv.AppendInt(trace, int64(frame.Line), 10)
		trace = append(trace, '\n')
		if !another {
			break
		}
	}
	if more {
		trace = append(trace, "...\n"...)
	}
	return trace
}

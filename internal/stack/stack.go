// Package stack prepares and describes the stack of a goroutine, and guards it.
package stack

import (
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Site names the innermost function of a trace that is not of the standard library, with its
// file and line. The trace is that of [runtime/debug.Stack] or [runtime.Stack], without
// its first line.
func Site(trace string) string {
	lines := strings.Split(trace, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		function, creator := strings.CutPrefix(lines[i], "created by ")
		if fromLibrary(function) {
			continue
		}
		if creator {
			function, _, _ = strings.Cut(function, " in goroutine ")
			function = "a goroutine of " + path.Base(function)
		} else {
			function = path.Base(function[:max(0, strings.LastIndexByte(function, '('))])
		}
		line, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		return function + " (" + path.Base(line) + ")"
	}
	return ""
}

// library are the packages of the standard library in which goroutines wait or panic on
// behalf of others, or the folders of those packages.
var library = []string{"bufio", "context", "encoding", "internal", "io", "net", "os", "panic(", "runtime", "sync", "syscall", "testing", "time"}

func fromLibrary(function string) bool {
	return slices.ContainsFunc(library, func(name string) bool {
		rest, in := strings.CutPrefix(function, name)
		return in && (strings.HasSuffix(name, "(") || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/"))
	})
}

// Grow makes room for a Room, an array of bytes, on the stack of a goroutine that has
// next to nothing on it. A stack doubles when it is full, and every frame on it is moved: the
// deeper the call, the more of them.
func Grow[Room any]() { hold[Room](false) }

// hold has a frame with place for a Room, and clears the place only if it is used.
//
//go:noinline
func hold[Room any](used bool) {
	if used {
		var room Room
		runtime.KeepAlive(&room)
	}
}

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

// Guard runs code that others wrote on a goroutine of its own, and waits for it. Its panic and its
// runtime.Goexit are its own business.
func Guard(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		Grow[[8 << 10]byte]() // loggers and tracers are deep
		f()
	}()
	<-done
}

package stack

import (
	"path"
	"slices"
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

package mrtrtest

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// inBubble runs f in a bubble. Goroutines that f leaves behind would end the
// program there; f has reported them by then.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	returned := false
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if deadlock := fmt.Sprint(v); !returned || !strings.HasPrefix(deadlock, "deadlock: main bubble goroutine has exited") {
			panic(v)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		f(t)
		returned = true
	})
}

// goroutines are those of one bubble, by id, with their stacks.
type goroutines map[string]string

var goroutineHeader = regexp.MustCompile(`^goroutine (\d+) .*?\[(.*?)(?:, synctest bubble (\d+))?\]:`)

// inThisBubble are the goroutines of the caller's bubble.
func inThisBubble() goroutines {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	// The caller's is the first one.
	var bubble string
	found := goroutines{}
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		header := goroutineHeader.FindStringSubmatch(stack)
		if header == nil {
			continue
		}
		if bubble == "" {
			bubble = header[3]
		}
		if header[3] == bubble {
			found[header[1]] = stack
		}
	}
	return found
}

// without leaves out those that were there before, and those of this package,
// which wait for the others.
func (g goroutines) without(before goroutines) goroutines {
	rest := maps.Clone(g)
	maps.DeleteFunc(rest, func(id, stack string) bool {
		_, old := before[id]
		return old || strings.Contains(stack, "mrtrtest.(*instance).stop")
	})
	return rest
}

// String says where they are, alike in every run.
func (g goroutines) String() string {
	count := map[string]int{}
	for _, stack := range g {
		count[whereabouts(stack)]++
	}
	var all []string
	for _, where := range slices.Sorted(maps.Keys(count)) {
		if n := count[where]; n > 1 {
			where = fmt.Sprintf("%d times %s", n, where)
		}
		all = append(all, where)
	}
	return strings.Join(all, "; ")
}

// waitingRooms are the packages of the standard library in which goroutines wait,
// or the folders of those.
var waitingRooms = []string{"bufio", "context", "encoding", "internal", "io", "net", "os", "runtime", "sync", "syscall", "testing", "time"}

// whereabouts is the innermost function of a stack that waits on its own account,
// with its line, and what the goroutine waits for there.
func whereabouts(stack string) string {
	lines := strings.Split(stack, "\n")
	state, _, _ := strings.Cut(strings.SplitN(lines[0], "[", 2)[1], ",")
	state = strings.TrimSuffix(strings.TrimSuffix(state, "]:"), " (durable)")
	for i := 1; i+1 < len(lines); i += 2 {
		function := strings.TrimPrefix(lines[i], "created by ")
		if first := function[:strings.IndexAny(function, "./")]; slices.Contains(waitingRooms, first) {
			continue
		}
		if at := strings.LastIndexByte(function, '('); at > 0 {
			function = function[:at]
		}
		function, _, _ = strings.Cut(function, " in goroutine ")
		line, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		return fmt.Sprintf("%s in %s (%s)", state, path.Base(function), path.Base(line))
	}
	return state
}

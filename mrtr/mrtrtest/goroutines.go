package mrtrtest

import (
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// goroutines are those of one bubble, by id, with their stacks.
type goroutines map[string]string

var goroutineHeader = regexp.MustCompile(`^goroutine (\d+) .*?\[(.*?)(?:, synctest bubble (\d+))?\]:`)

// inThisBubble are the goroutines of the caller's bubble.
func inThisBubble() goroutines { return inBubbleOf(thisBubble()) }

// thisBubble is the number of the caller's bubble.
func thisBubble() string {
	buf := make([]byte, 1<<10)
	header := goroutineHeader.FindSubmatch(buf[:runtime.Stack(buf, false)])
	if header == nil {
		return ""
	}
	return string(header[3])
}

// inBubbleOf are the goroutines of the bubble with this number.
func inBubbleOf(bubble string) goroutines {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	found := goroutines{}
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		header := goroutineHeader.FindStringSubmatch(stack)
		if header != nil && header[3] == bubble {
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

// String says where they are. It does not say how many are at one place: that
// depends on how often the code was reached, in rules that race on purpose.
func (g goroutines) String() string {
	places := map[string]bool{}
	for _, stack := range g {
		places[whereabouts(stack)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(places)), "; ")
}

// whereabouts says where a goroutine is, and in which state.
func whereabouts(stack string) string {
	_, state, _ := strings.Cut(stack, "[")
	state, _, _ = strings.Cut(state, "]")
	state, _, _ = strings.Cut(state, ",")
	state = strings.TrimSuffix(state, " (durable)")
	if at := firstCaller(strings.Split(stack, "\n")[1:]); at != "" {
		return state + " in " + at
	}
	return state
}

// panicSite says where the code panicked that this is the stack of.
func panicSite(stack string) string {
	_, below, _ := strings.Cut(stack, "\npanic(")
	return firstCaller(strings.Split("panic("+below, "\n"))
}

// waitingRooms are the packages of the standard library in which goroutines wait
// or panic for others, or the folders of those.
var waitingRooms = []string{"bufio", "context", "encoding", "internal", "io", "net", "os", "panic(", "runtime", "sync", "syscall", "testing", "time"}

// firstCaller is the innermost function that is outside of those packages, with
// its line.
func firstCaller(lines []string) string {
	for i := 0; i+1 < len(lines); i += 2 {
		function, creator := strings.CutPrefix(lines[i], "created by ")
		if slices.ContainsFunc(waitingRooms, func(room string) bool {
			rest, in := strings.CutPrefix(function, room)
			return in && (strings.HasSuffix(room, "(") || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/"))
		}) {
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

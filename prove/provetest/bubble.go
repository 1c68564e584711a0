package provetest

import (
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mrtr-go/sdk/internal/stack"
)

// inBubble runs f in a bubble. Goroutines that f leaves behind would end the
// program there; f has reported them by then.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	var bubble atomic.Value
	over := make(chan struct{})
	defer close(over)
	go watch(&bubble, over)
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
		bubble.Store(thisBubble())
		f(t)
		returned = true
	})
}

// lookEvery is how long watch waits between its looks; tests shorten it.
var lookEvery = time.Second

// watch ends the program if nothing in the bubble can go on and no time can pass
// either: somebody waits for a mutex that is not given back, or for something
// outside the bubble. It looks from outside, by the clock on the wall.
func watch(bubble *atomic.Value, over <-chan struct{}) {
	const looks = 5
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last, same := "", 0
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		id, _ := bubble.Load().(string)
		if id == "" {
			continue
		}
		stuck := inBubbleOf(id).stuck()
		if now := fmt.Sprint(map[string]string(stuck)); len(stuck) == 0 || now != last {
			last, same = now, 0
			continue
		}
		if same++; same == looks {
			panic(fmt.Sprintf("provetest: the proof is stuck, since no time passes in a bubble of testing/synctest while a goroutine waits for a mutex "+
				"or for something outside the bubble: %s. Call Effect without a lock that another instance takes, and keep network connections out.", stuck))
		}
	}
}

var (
	waitsOutside = regexp.MustCompile(`^goroutine \d+ \[(?:sync\.\w+\.\w+|semacquire|IO wait|select|chan receive|chan send)[^()]*\]:`)
	waitsInside  = regexp.MustCompile(`^goroutine \d+ \[[^]]*\(durable\)|^goroutine \d+ \[synctest\.`)
)

// stuck are the goroutines that keep time from passing, if none of the others
// can run: empty if one can.
func (g goroutines) stuck() goroutines {
	found := goroutines{}
	for id, stack := range g {
		switch {
		case waitsOutside.MatchString(stack):
			found[id] = stack
		case !waitsInside.MatchString(stack):
			return nil
		}
	}
	return found
}

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

// without leaves out those that were there before, and those
// that wait for the others to end.
func (g goroutines) without(before goroutines) goroutines {
	rest := maps.Clone(g)
	maps.DeleteFunc(rest, func(id, stack string) bool {
		_, old := before[id]
		return old || strings.Contains(stack, "mrtrtest.(*Instance).Stop")
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
func whereabouts(dump string) string {
	_, state, _ := strings.Cut(dump, "[")
	state, _, _ = strings.Cut(state, "]")
	state, _, _ = strings.Cut(state, ",")
	state = strings.TrimSuffix(state, " (durable)")
	_, trace, _ := strings.Cut(dump, "\n")
	if at := stack.Site(trace); at != "" {
		return state + " in " + at
	}
	return state
}

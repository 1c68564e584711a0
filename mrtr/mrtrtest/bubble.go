package mrtrtest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

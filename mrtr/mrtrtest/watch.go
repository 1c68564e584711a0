package mrtrtest

import (
	"fmt"
	"regexp"
	"sync/atomic"
	"time"
)

// lookEvery is how long watch waits between its looks; tests shorten it.
var lookEvery = time.Second

// watch ends the program where nothing in the bubble can go on and no time can pass
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
			panic(fmt.Sprintf("mrtrtest: the proof is stuck, since no time passes in a bubble of testing/synctest while a goroutine waits for a mutex "+
				"or for something outside the bubble: %s. Call Effect without a lock that another instance takes, and keep network connections out.", stuck))
		}
	}
}

var (
	waitsOutside = regexp.MustCompile(`^goroutine \d+ \[(?:sync\.\w+\.\w+|semacquire|IO wait|select|chan receive|chan send)[^()]*\]:`)
	waitsInside  = regexp.MustCompile(`^goroutine \d+ \[[^]]*\(durable\)|^goroutine \d+ \[synctest\.`)
)

// stuck are the goroutines that keep time from passing, where none of the others
// can run: empty where one can.
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

package main

import (
	"runtime"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

// load is how much a server holds at one moment: requests that wait for their
// responses, and handlers that wait for their users.
type load struct{ requests, handlers int }

// weighing notes, at each question, how much the server holds at that moment.
func (r *recorder) weighing(answers wire.Answers) wire.Answers {
	weighed := wire.Answers{}
	for key, answer := range answers {
		weighed[key] = func(q wire.Question) any {
			r.weigh()
			return answer(q)
		}
	}
	return weighed
}

func (r *recorder) weigh() {
	handlers := handlersRunning()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held.requests = max(r.held.requests, len(r.open))
	r.held.handlers = max(r.held.handlers, handlers)
}

// handlersRunning counts the goroutines that stand in a function of a style, but for
// those that the engine has ended: one may still be on its way out.
func handlersRunning() (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, goroutine := range strings.Split(string(stacks), "\n\n") {
		if strings.Contains(goroutine, "\ngithub.com/mrtr-go/sdk/options") && !strings.Contains(goroutine, "\nruntime.Goexit(") {
			n++
		}
	}
	return n
}

package boundary

import "sync"

// abandoned counts the handlers that were left running after their calls ended.
// Once there are limit of them it refuses every tool that has one. Other tools go
// on, so that one tool that hangs does not stop the rest.
//
// All names that no tool is known by count as the tool "". Otherwise a client could
// call one made-up name after another and never be refused.
type abandoned struct {
	limit int

	mu    sync.Mutex
	total int
	tools map[string]int
}

// countedAs is the name that a tool's handlers are counted under.
func countedAs(tool string, known bool) string {
	if known {
		return tool
	}
	return ""
}

// refuses reports whether another call of the tool must be refused, and how many
// abandoned handlers there are.
func (a *abandoned) refuses(tool string) (total int, refused bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total, a.total >= a.limit && a.tools[tool] > 0
}

func (a *abandoned) add(tool string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tools == nil {
		a.tools = map[string]int{}
	}
	a.total++
	a.tools[tool]++
}

func (a *abandoned) done(tool string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total--
	if a.tools[tool]--; a.tools[tool] == 0 {
		delete(a.tools, tool)
	}
}

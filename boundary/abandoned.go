package boundary

import "sync"

// abandoned counts the handlers that were left running after their calls ended.
// Once there are limit of them it refuses the tools that have one, and only those:
// a tool that does not hang must not go down with one that does.
//
// A name that no tool is known by counts as the tool "", all such names together,
// or a client could make up one after another and never be refused.
type abandoned struct {
	limit int

	mu    sync.Mutex
	total int
	tools map[string]int
}

// countedAs is the name under which handlers of a tool are counted.
func countedAs(tool string, known bool) string {
	if known {
		return tool
	}
	return ""
}

// refuses reports whether a further call of the tool is not to run, and how many
// handlers were abandoned.
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

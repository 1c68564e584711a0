package boundary

import "sync"

// abandoned counts the handlers that were left running after their calls ended, by
// tool (or prompt, or resource) and by client. It refuses a call in these cases:
//
//   - The tool has limit handlers left behind. It is refused to everybody.
//   - There are limit in all, or perClient of this client, and this client left one
//     of this tool behind. The tool is refused to this client alone, so that a tool
//     that hangs for one client takes neither that tool nor another from the rest.
//   - The client has left mostPerClient times perClient behind. It is refused
//     everything, or it could go from one resource to the next.
//
// All names that no tool is known by count as one. Otherwise a client could call one
// made-up name after another.
type abandoned struct {
	limit, perClient int

	mu      sync.Mutex
	total   int
	tools   map[counted]int
	clients map[any]*clientAbandoned
}

type clientAbandoned struct {
	total int
	tools map[counted]int
}

const mostPerClient = 4

// counted is under which a handler is counted. Its name is empty if nothing is known
// by the name.
type counted struct {
	kind *kind
	name string
}

func (c *call) countedAs(known bool) counted {
	if known || c.kind != toolCall {
		return counted{c.kind, c.tool}
	}
	return counted{kind: c.kind}
}

// refuses reports whether another call must be refused, and how many abandoned
// handlers there are.
func (a *abandoned) refuses(client any, tool counted) (total int, refused bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tools[tool] >= a.limit {
		return a.total, true
	}
	own := a.clients[client]
	if own == nil {
		return a.total, false
	}
	full := a.total >= a.limit || own.total >= a.perClient
	return a.total, full && own.tools[tool] > 0 || own.total >= mostPerClient*a.perClient
}

func (a *abandoned) add(client any, tool counted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tools == nil {
		a.tools, a.clients = map[counted]int{}, map[any]*clientAbandoned{}
	}
	own := a.clients[client]
	if own == nil {
		own = &clientAbandoned{tools: map[counted]int{}}
		a.clients[client] = own
	}
	a.total++
	a.tools[tool]++
	own.total++
	own.tools[tool]++
}

func (a *abandoned) done(client any, tool counted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.clients[client]
	a.total--
	own.total--
	if a.tools[tool]--; a.tools[tool] == 0 {
		delete(a.tools, tool)
	}
	if own.tools[tool]--; own.tools[tool] == 0 {
		delete(own.tools, tool)
	}
	if own.total == 0 {
		delete(a.clients, client)
	}
}

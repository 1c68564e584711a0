package boundary

import "sync"

// abandoned counts the handlers that were left running after their calls ended, by
// tool and by client. It refuses a call in three cases:
//
//   - The tool has limit handlers left behind. It is refused to everybody.
//   - There are limit in all, or perClient of this client, and this client left one
//     of this tool behind. The tool is refused to this client alone, so that a tool
//     that hangs for one client takes neither that tool nor another from the rest.
//
// So there are at most limit for each tool, and for one client perClient and one more
// for each further tool, besides the calls that were already running.
//
// All names that nothing is known by count as one. Otherwise a client could call one
// made-up name after another and never be refused.
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

// counted is under which a handler is counted. Its name is empty if nothing is known
// by the name.
type counted struct {
	kind *kind
	name string
}

func (c *call) countedAs(known bool) counted {
	if known {
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
	return a.total, own != nil && own.tools[tool] > 0 && (a.total >= a.limit || own.total >= a.perClient)
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

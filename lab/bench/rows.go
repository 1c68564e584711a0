package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/lab/bench/internal/wire"
)

// row is a line of the table. Its finding is held against the bar, if it has one: it may be
// as much at most.
type row struct {
	name    string
	bar     float64
	measure func(w *workshop) (finding, error)
}

// rows is the table: those with a bar first, and then the same loads as we would set the
// peers.
func rows() []row {
	ours, peer := served("ours"), served("mcp-go")
	return []row{
		{"two rounds over HTTP, against mcp-go", 0.6, cpu(ours, peer, twoRounds)},
		{"the same, 100 clients", 0.5, cpu(ours, peer, twoRounds.by(100))},
		{"the same, one user who answers every 1.2 s", 1.1, cpu(ours, peer, twoRounds.thinking(1200*time.Millisecond))},
		{"one round, no question", 0.7, cpu(ours, peer, oneRound)},
		{"tools/list, 2 tools", 1, cpu(ours, peer, list(2))},
		{"tools/list, 100 tools", 1, cpu(ours.offering(100), peer.offering(100), list(100))},
		{"two rounds over stdio", 1.5, cpu(ours.over("stdio"), peer.over("stdio"), twoRounds)},
		{"a legacy client over HTTP, against go-sdk's own front", 1.05, cpu(ours, served("ours on go-sdk"), twoRounds.ofLegacy())},
		{"two rounds over HTTP, instructions against the floor, GOGC=400 for both", 1.25, instructions(ours.collecting(400), served("floor").collecting(400), twoRounds)},
		{"two rounds over HTTP, bytes allocated", 45_000, allocated(ours, twoRounds)},
		{"1,000,000 open Resumable calls, bytes", 1_000_000_000, openCalls},
		{"two rounds over HTTP, against go-sdk's front and a handler by hand", 0.2, cpu(ours, served("go-sdk"), twoRounds)},
		{"two rounds over HTTP, against the TypeScript SDK", 0.2, cpu(ours, served("typescript"), twoRounds)},
		{"the engine in two rounds, instructions", 38_900, engineInstructions},
		{"the engine in two rounds, allocations", 12, engineAllocations},

		{"two rounds over HTTP, GOGC=400 for both", 0, cpu(ours.collecting(400), peer.collecting(400), twoRounds)},
		{"the same, 100 clients, GOGC=400 for both", 0, cpu(ours.collecting(400), peer.collecting(400), twoRounds.by(100))},
		{"the same, mcp-go validating", 0, cpu(ours, served("mcp-go, validating"), twoRounds)},
		{"the same, mcp-go validating, GOGC=400 for both", 0, cpu(ours.collecting(400), served("mcp-go, validating").collecting(400), twoRounds)},
		{"one round, no question, GOGC=400 for both", 0, cpu(ours.collecting(400), peer.collecting(400), oneRound)},
		{"10 KB of arguments", 0, cpu(ours, peer, twoRounds.with(10_000))},
		{"10 KB of arguments, GOGC=400 for both", 0, cpu(ours.collecting(400), peer.collecting(400), twoRounds.with(10_000))},
		{"tools/list, 2 tools, GOGC=400 for both", 0, cpu(ours.collecting(400), peer.collecting(400), list(2))},
		{"a legacy client over HTTP, GOGC=400 for both", 0, cpu(ours.collecting(400), served("ours on go-sdk").collecting(400), twoRounds.ofLegacy())},
		{"go-sdk's front and a handler by hand, GOGC=400 for both", 0, cpu(ours.collecting(400), served("go-sdk").collecting(400), twoRounds)},
		{"two rounds over our WebSocket, against go-sdk's front over HTTP", 0, cpu(ours.over("websocket"), served("go-sdk"), twoRounds)},
		{"two rounds over HTTP, against the floor", 0, cpu(ours, served("floor"), twoRounds)},
		{"two rounds over HTTP, mcp-go against the floor", 0, cpu(peer, served("floor"), twoRounds)},
		{"two rounds over HTTP, instructions against mcp-go, GOGC=400 for both", 0, instructions(ours.collecting(400), peer.collecting(400), twoRounds)},
	}
}

// side is a server that is measured.
type side struct {
	server, transport string
	tools             int
	gogc              int // 0 for the collector as it comes
}

func served(server string) side { return side{server: server, transport: "http", tools: 2} }

func (s side) over(transport string) side { s.transport = transport; return s }
func (s side) offering(tools int) side    { s.tools = tools; return s }
func (s side) collecting(gogc int) side   { s.gogc = gogc; return s }

// load is the work that clients give to a server.
type load struct {
	call    wire.Call
	clients int
	legacy  bool
}

var (
	twoRounds = load{clients: 1, call: wire.Call{
		Tool: "weather", Arguments: `{"location":"Lisbon"}`, Requests: 2,
		Answers: map[string]string{"units": "metric"}, Text: inLisbon,
	}}
	oneRound = load{clients: 1, call: wire.Call{Tool: "sky", Arguments: `{"location":"Lisbon"}`, Requests: 1, Text: inLisbon}}
)

const inLisbon = "Weather in Lisbon: 22°C, partly cloudy."

func list(tools int) load { return load{clients: 1, call: wire.Call{Tools: tools}} }

func (l load) by(clients int) load               { l.clients = clients; return l }
func (l load) thinking(think time.Duration) load { l.call.Think = think; return l }
func (l load) ofLegacy() load                    { l.legacy = true; return l }

// with makes the arguments longer by so many bytes.
func (l load) with(bytes int) load {
	l.call.Arguments = fmt.Sprintf(`{"location":"Lisbon","notes":%q}`, strings.Repeat("note ", bytes/5))
	return l
}

package main

import (
	"github.com/mrtr-go/sdk/bench/internal/payload"
)

const (
	overHTTP   = "A two-round call over HTTP: server CPU"
	overSocket = "A two-round call over our WebSocket"
	engineOnly = "What the engine adds to two rounds"
	stateSize  = "The state on the wire"
	inProcess  = "A two-round call in memory, one processor"
	resuming   = "Resuming a held handler"
	holding    = "Holding a weather coroutine"
	bounded    = "The boundary around a 1 KiB result, in memory"
	storing    = "Remembering a round in a store"
	refusing   = "Refusing a forged token"
	sealing    = "Seal plus open of a state"
	hostJSON   = "go-sdk's JSON decoding"
)

// rows is the table. The rows with a target are those that speed was promised for.
func rows() []row {
	all := httpRows()
	all = append(all, engineRows()...)
	all = append(all, memoryRows()...)
	all = append(all, storeRows()...)
	return append(all, codecRows()...)
}

// The servers over HTTP.
var (
	native     = served("http/ours")
	withGuard  = served("http/ours+boundary")
	throughSDK = served("http/ours+stock")
	stock      = served("http/stock")
	bareHTTP   = served("http/bare")
	mcpGo      = served("http/mcp-go")
	netHTTP    = served("http/floor")
	nodeHTTP   = load{program: nodeServer, clients: 1}
)

func httpRows() []row {
	socket := served("websocket/ours")
	return []row{
		over(native, throughSDK, cpu).named(overHTTP, "native, against the same with StockFront", nil),
		over(native.withGOGC(400), throughSDK.withGOGC(400), cpu).named(overHTTP, "against the same with StockFront, GOGC=400", nil),
		over(native, stock, cpu).named(overHTTP, "native, against go-sdk's front with the same handler", atMost(0.6)).orCounted(),
		over(native.withGOGC(400), stock.withGOGC(400), cpu).named(overHTTP, "the same, GOGC=400", nil),
		over(native, stock, wall).named(overHTTP, "the same, time of a call, one client", nil),
		over(native, stock, instructions).named(overHTTP, "the same, instructions", nil),
		over(native, stock, allocs).named(overHTTP, "the same, allocations", nil),
		over(native, stock, heapBytes).named(overHTTP, "the same, bytes allocated", nil),
		over(native.withGOGC(400), mcpGo.withGOGC(400), cpu).named(overHTTP, "native, against mcp-go unprotected, GOGC=400", atMost(1)).orCounted(),
		over(native, mcpGo, cpu).named(overHTTP, "the same, GOGC as it is", nil),
		over(native.of(mended).withGOGC(400), mcpGo.withGOGC(400), cpu).named(overHTTP, "the same, with go-sdk's decoder mended, GOGC=400", nil),
		over(native.of(mended), mcpGo, cpu).named(overHTTP, "the same, with go-sdk's decoder mended, GOGC as it is", nil),
		over(native.withGOGC(400), mcpGo.withGOGC(400), instructions).named(overHTTP, "the same, instructions, GOGC=400", nil),
		over(native, mcpGo, instructions).named(overHTTP, "native, against mcp-go unprotected, instructions", nil),
		over(native, mcpGo, allocs).named(overHTTP, "native, against mcp-go unprotected, allocations", nil),
		over(native, mcpGo, heapBytes).named(overHTTP, "native, against mcp-go unprotected, bytes allocated", nil),
		over(native.withGOGC(400), netHTTP.withGOGC(400), cpu).named(overHTTP, "native, against net/http with the same bytes, GOGC=400", nil),
		over(native.withGOGC(400), netHTTP.withGOGC(400), instructions).named(overHTTP, "native, against net/http with the same bytes, instructions, GOGC=400", nil),
		over(mcpGo.withGOGC(400), netHTTP.withGOGC(400), cpu).named(overHTTP, "mcp-go, against net/http with the same bytes, GOGC=400", nil),
		over(mcpGo.withGOGC(400), netHTTP.withGOGC(400), instructions).named(overHTTP, "mcp-go, against net/http with the same bytes, instructions, GOGC=400", nil),
		over(native.withGOGC(400), nodeHTTP, cpu).named(overHTTP, "native with GOGC=400, against the TypeScript SDK under Node", atMost(0.5)),
		over(withGuard, native, cpu).named(overHTTP, "native with the boundary, against without", nil),
		over(stock, bareHTTP, cpu).named(overHTTP, "native, against the bare handler, both on go-sdk's front", nil),
		over(stock.of(mended), stock, cpu).named(overHTTP, "go-sdk with its decoder mended, against as released", nil),
		over(socket, stock, wall).timesFaster().named(overSocket, "calls a second, against go-sdk's HTTP front", atLeast(2.2)),
		over(socket, stock, cpu).named(overSocket, "server CPU, against the same", nil),
	}
}

func engineRows() []row {
	with, bare := inMemory(engine, "protected"), inMemory(engine, "bare")
	first := with.of(firstEngine)
	againstFirst := row{ours: ptr(with.read(cpu)), theirs: ptr(first.read(cpu)), base: ptr(bare.read(cpu))}
	return []row{
		adds(with, bare, allocs).named(engineOnly, "allocations", atMost(12)),
		adds(with, bare, heapBytes).named(engineOnly, "bytes allocated", atMost(1800)),
		adds(with, bare, instructions).named(engineOnly, "instructions, SHA and collector taken off", atMost(26_000)),
		againstFirst.named(engineOnly, "CPU, against the first version's", atMost(0.6)),
		adds(with, bare, cpu).named(engineOnly, "CPU", nil),
		value(inMemory(today, "state/1").read(word)).named(stateSize, "characters, one question", atMost(215)),
		value(inMemory(today, "state/2").read(word)).named(stateSize, "characters, two questions", nil),
	}
}

func memoryRows() []row {
	var all []row
	bare := inMemory(today, "memory/bare")
	for _, style := range []struct {
		name   string
		target float64
	}{{"native", 1.05}, {"once", 1.05}, {"coroutine", 1.07}, {"journal", 1.07}} {
		ours := inMemory(today, "memory/"+style.name)
		all = append(all,
			over(ours, bare, cpu).named(inProcess, style.name+", against the bare handler, CPU", atMost(style.target)).orCounted(),
			over(ours, bare, instructions).named(inProcess, style.name+", instructions", nil),
			over(ours, bare, allocs).named(inProcess, style.name+", allocations", atMost(1.03)))
	}
	long := inMemory(today, "memory/padded")
	all = append(all,
		over(long, bare, cpu).named(inProcess, "bare with a state as long as native's, CPU", nil),
		over(long, bare, instructions).named(inProcess, "bare with a state as long as native's, instructions", nil))
	frame, goroutine := inMemory(mrtrBench, "Resume/frame/100"), inMemory(mrtrBench, "Resume/bare/100")
	all = append(all,
		over(frame, goroutine, cpu).named(resuming, "CPU, against a bare goroutine", atMost(2)),
		over(frame, goroutine, instructions).named(resuming, "instructions, against the same", nil),
		value(inMemory(today, "held").read(heldBytes)).named(holding, "bytes of each", atMost(4500)),
		value(inMemory(today, "held/1000000").read(heldBytes)).named(holding, "bytes of each of 1,000,000, each resumed once", atMost(4500)).aloneWith("-million"))
	for _, tool := range []struct {
		name   string
		target float64
	}{{"text", 1.03}, {"structured", 1.05}} {
		with, without := inMemory(today, "boundary/"+tool.name+"/with"), inMemory(today, "boundary/"+tool.name+"/without")
		all = append(all,
			over(with, without, cpu).named(bounded, tool.name+", CPU", atMost(tool.target)).orCounted(),
			over(with, without, instructions).named(bounded, tool.name+", instructions", nil))
	}
	return all
}

// storeRows compare the cost that a store adds to a call with that of two bare writes.
func storeRows() []row {
	beside := func(store program, q quantity) row {
		return row{ours: ptr(remembered(store).read(q)), theirs: ptr(besideWrites(store).read(q)), base: ptr(withoutStore(store).read(q))}
	}
	all := []row{
		beside(memoryStore, cpu).named(storing, "memory: CPU, against a bare Create and Update", atMost(3)),
		beside(memoryStore, allocs).named(storing, "memory: allocations, against the same", nil),
		adds(remembered(memoryStore), withoutStore(memoryStore), cpu).named(storing, "memory: CPU that it adds to a call", nil),
	}
	for _, store := range []program{sqliteStore, natsStore, postgresStore, redisStore} {
		all = append(all, beside(store, wall).named(storing, stores[store].name+": time, against a bare Create and Update", atMost(1.2)))
	}
	return all
}

func codecRows() []row {
	codec := func(name string) load { return inMemory(today, "codec/"+name) }
	typescript := load{program: nodeCodec, subject: payload.State}
	altered, bareMem, nativeMem := codec("refuse-body-altered"), inMemory(today, "memory/bare"), inMemory(today, "memory/native")
	message := inMemory(today, "decode/message")
	return []row{
		over(altered, codec("limit-open"), cpu).named(refusing, "body altered, against SHA-256 over the same bytes", atMost(1)),
		value(altered.read(allocs)).named(refusing, "body altered, allocations", atMost(0)),
		over(codec("refuse-garbage"), codec("limit-open"), cpu).named(refusing, "garbage, against SHA-256 over the same bytes", nil),
		over(codec("ours"), codec("limit"), cpu).named(sealing, "against SHA-256 and base64 alone", nil),
		over(codec("ours"), codec("securecookie"), cpu).timesFaster().named(sealing, "against gorilla/securecookie", nil),
		over(codec("ours"), codec("golang-jwt"), cpu).timesFaster().named(sealing, "against golang-jwt", nil),
		over(codec("ours"), typescript, cpu).timesFaster().named(sealing, "against the TypeScript SDK's codec, under Node", nil),
		over(message, message.of(mended), cpu).named(hostJSON, "one message, against from the bytes, CPU", nil),
		over(message, message.of(mended), heapBytes).named(hostJSON, "one message, against from the bytes, bytes", nil),
		over(inMemory(today, "decode/decoder"), inMemory(today, "decode/bytes"), cpu).named(hostJSON, "its first step alone, CPU", nil),
		over(inMemory(today, "decode/decoder"), inMemory(today, "decode/bytes"), heapBytes).named(hostJSON, "its first step alone, bytes", nil),
		over(bareMem, bareMem.of(mended), cpu).named(hostJSON, "a bare two-round call in memory, CPU", nil),
		over(bareMem, bareMem.of(mended), heapBytes).named(hostJSON, "a bare two-round call in memory, bytes", nil),
		over(nativeMem, nativeMem.of(mended), cpu).named(hostJSON, "a native two-round call in memory, CPU", nil),
		over(nativeMem, nativeMem.of(mended), heapBytes).named(hostJSON, "a native two-round call in memory, bytes", nil),
	}
}

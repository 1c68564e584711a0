package main

// row is one line of the table. Its figure is ours; or (ours − base) if there
// is a base; or that over (theirs − base) if there is something to compare
// with. faster turns the quotient over.
type row struct {
	section, name      string
	ours, theirs, base *reading
	faster             bool
	counted            bool // instructions decide if the time does not
	target             *target
	alone              string // the flag of the run of its own in which it is measured
}

// target is the bound that a row's figure has to keep.
type target struct {
	atLeast bool
	value   float64
}

func atMost(v float64) *target  { return &target{value: v} }
func atLeast(v float64) *target { return &target{true, v} }

func (r *row) readings() []reading {
	var all []reading
	for _, of := range []*reading{r.ours, r.theirs, r.base} {
		if of != nil {
			all = append(all, *of)
		}
	}
	return all
}

// inInstructions is the row of the same loads for their instructions.
func (r row) inInstructions() row {
	for _, of := range []**reading{&r.ours, &r.theirs, &r.base} {
		if *of != nil {
			*of = ptr((*of).load.read(instructions))
		}
	}
	r.counted = false
	return r
}

// orCounted makes a row of times one that instructions decide if its interval holds
// the target. They are the same in every run, and leave out the work of the kernel.
func (r row) orCounted() row { r.counted = true; return r }

// over compares two loads in one quantity.
func over(ours, theirs load, q quantity) row {
	return row{ours: ptr(ours.read(q)), theirs: ptr(theirs.read(q))}
}

func value(of reading) row { return row{ours: &of} }

// adds is the extra cost of a load over another.
func adds(ours, base load, q quantity) row {
	return row{ours: ptr(ours.read(q)), base: ptr(base.read(q))}
}

func (r row) named(section, name string, t *target) row {
	r.section, r.name, r.target = section, name, t
	return r
}

func (r row) timesFaster() row { r.faster = true; return r }

// aloneWith makes a row one that is measured in a run of its own, with this flag.
func (r row) aloneWith(flag string) row { r.alone = flag; return r }

func ptr[T any](v T) *T { return &v }

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
	nodeHTTP   = load{program: nodeServer, served: true}
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
		over(native.of(fixed).withGOGC(400), mcpGo.withGOGC(400), cpu).named(overHTTP, "the same, with go-sdk's decoder fixed, GOGC=400", nil),
		over(native.of(fixed), mcpGo, cpu).named(overHTTP, "the same, with go-sdk's decoder fixed, GOGC as it is", nil),
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
		over(stock.of(fixed), stock, cpu).named(overHTTP, "go-sdk with its decoder fixed, against as released", nil),
		over(socket, stock, wall).timesFaster().named(overSocket, "calls a second, against go-sdk's HTTP front", atLeast(2.2)),
		over(socket, stock, cpu).named(overSocket, "server CPU, against the same", nil),
	}
}

func engineRows() []row {
	with, bare := inMemory(today, "engine/protected"), inMemory(today, "engine/bare")
	return []row{
		adds(with, bare, allocs).named(engineOnly, "allocations", atMost(12)),
		adds(with, bare, heapBytes).named(engineOnly, "bytes allocated", atMost(1800)),
		adds(with, bare, instructions).named(engineOnly, "instructions, SHA and collector taken off", atMost(26_000)),
		adds(with, bare, cpu).named(engineOnly, "CPU", nil),
		value(inMemory(today, "state/1").read(word)).named(stateSize, "characters, one question", atMost(420)),
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
	altered, bareMem, nativeMem := codec("refuse-body-altered"), inMemory(today, "memory/bare"), inMemory(today, "memory/native")
	return []row{
		over(altered, codec("limit-open"), cpu).named(refusing, "body altered, against SHA-256 over the same bytes", atMost(1)),
		value(altered.read(allocs)).named(refusing, "body altered, allocations", atMost(0)),
		over(codec("refuse-garbage"), codec("limit-open"), cpu).named(refusing, "garbage, against SHA-256 over the same bytes", nil),
		over(codec("ours"), codec("limit"), cpu).named(sealing, "against SHA-256 and base64 alone", nil),
		over(bareMem, bareMem.of(fixed), cpu).named(hostJSON, "a bare two-round call in memory, CPU", nil),
		over(bareMem, bareMem.of(fixed), heapBytes).named(hostJSON, "a bare two-round call in memory, bytes", nil),
		over(nativeMem, nativeMem.of(fixed), cpu).named(hostJSON, "a native two-round call in memory, CPU", nil),
		over(nativeMem, nativeMem.of(fixed), heapBytes).named(hostJSON, "a native two-round call in memory, bytes", nil),
	}
}

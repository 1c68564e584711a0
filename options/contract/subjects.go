// Package contract is what invariant_test.go, at the top of the module, plays: the
// weather tool and two order tools in every style, and the contracts that each style
// has to keep. The tests of options show that the invariant would notice a style that is
// broken, and that a boundary around the styles changes nothing.
package contract

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// weather is the name under which every style is served here. The name is how
// people tell the styles apart, and would be a difference between them.
const weather = "weather"

// ChargesEarly says of each style whether it charges between the two questions, or below the last.
var ChargesEarly = map[string]bool{
	"native": false, "sse_shim": false, "version_branch": false, "two_handlers": false, "given": false,
	"once": true, "steps": true, "coroutine": true, "journal": true,
	"await": true, "naive": true,
}

// Styles are the options and landmines of these names.
func Styles(names ...string) []mrtrtest.Subject {
	var subjects []mrtrtest.Subject
	for _, o := range slices.Concat(options.All, landmine.All) {
		if slices.Contains(names, o.Name) {
			subjects = append(subjects, subjectOf(o.Name, ChargesEarly[o.Name], o.New))
		}
	}
	if len(subjects) != len(names) {
		panic(fmt.Sprintf("only %d of the styles %q exist", len(subjects), names))
	}
	return subjects
}

// AllStyles are the options, without the landmines.
func AllStyles() []mrtrtest.Subject {
	var names []string
	for _, o := range options.All {
		names = append(names, o.Name)
	}
	return Styles(names...)
}

// schemas spares the many servers of these tests from deriving the same two
// schemas again.
var schemas = mcp.NewSchemaCache()

// subjectOf serves a handler. The instances of one deployment share a key.
func subjectOf(name string, early bool, handler func(*mrtr.Runtime, *options.Card) options.Handler) mrtrtest.Subject {
	return SubjectUnder(mrtr.Options{}, name, early, handler)
}

// SubjectUnder serves a handler with the policies of opts.
func SubjectUnder(opts mrtr.Options, name string, early bool, handler func(*mrtr.Runtime, *options.Card) options.Handler) mrtrtest.Subject {
	build := func(w *mrtrtest.World) *mcp.Server {
		own := opts
		rt := runtimeOf(w, &own)
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{SchemaCache: schemas})
		mrtr.AddTool(server, &mcp.Tool{Name: weather}, handler(rt, &options.Card{Out: w.Effect}))
		installTasks(w, server, rt, weather)
		return server
	}
	return mrtrtest.Subject{Name: name, Early: early, Build: build}
}

// runtimeOf is a runtime whose key all instances of the deployment have. It is
// closed with its instance.
func runtimeOf(w *mrtrtest.World, opts *mrtr.Options) *mrtr.Runtime {
	key, err := statecodec.NewKey(w.Key())
	must(err)
	opts.State = &statecodec.Options{Keys: []statecodec.Key{key}}
	rt, err := mrtr.New(OnForcedStore(opts))
	must(err)
	w.Cleanup(func() { must(rt.Close()) })
	return rt
}

// must stops the tests: nothing that it is used for fails in a sound program.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Resumable is style H that falls back to the journal of style J.
func Resumable() mrtrtest.Subject {
	return subjectOf("resumable", true, options.Resumable)
}

// The settings in which the styles are called.
var (
	OneInstance = &mrtrtest.Options{}
	// Fresh is the hardest load balancer: no two rounds of a call reach the
	// same instance, and each instance is stopped before the next one starts.
	Fresh = &mrtrtest.Options{FreshInstances: true}
	// Legacy is a client that makes one tools/call and is asked over its
	// connection while that call is open. It never calls again, so it takes the
	// first reply for the result.
	Legacy = &mrtrtest.Options{Era: mrtrtest.Legacy}

	// AsTask is a client that takes tasks, of which every call becomes one.
	AsTask = &mrtrtest.Options{Era: mrtrtest.TakesTasks}
	// FreshTask sends each update of a task, and the polls behind it, to another instance.
	FreshTask = &mrtrtest.Options{Era: mrtrtest.TakesTasks, FreshInstances: true}

	// The clients that cannot be asked: those that declare no capability, and
	// those that offered 2026-07-28 in a handshake and were negotiated down,
	// whom go-sdk does not ask.
	SilentModern   = &mrtrtest.Options{Capabilities: "{}"}
	SilentLegacy   = &mrtrtest.Options{Era: mrtrtest.Legacy, Capabilities: "{}"}
	NegotiatedDown = &mrtrtest.Options{Era: mrtrtest.NegotiatedDown}
)

// AskingLegacy are the styles that ask a legacy client: all of them.
var AskingLegacy = []string{"native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "coroutine", "journal", "given"}

// instancesStore is a memory store as if several instances shared it.
type instancesStore struct{ *store.Memory }

func (instancesStore) Scope() store.Scope { return store.Machine }

// SharedStore is a new one that the instances of a deployment share.
func SharedStore() store.Store { return instancesStore{store.NewMemory(nil)} }

var forcedStore = store.NewMemory(nil)

// OnForcedStore puts a store under a runtime that has none, with
//
//	MRTR_STORE=memory go test . ./options
//
// The invariant and the boundary hold with a store as they do without.
func OnForcedStore(opts *mrtr.Options) *mrtr.Options {
	if os.Getenv("MRTR_STORE") != "memory" {
		return opts
	}
	var o mrtr.Options
	if opts != nil {
		o = *opts
	}
	if o.Durable != nil {
		return &o
	}
	var shared store.Store = forcedStore
	if o.State != nil && len(o.State.Keys) > 0 {
		shared = instancesStore{forcedStore}
	}
	o.Durable = durable.In(shared, &durable.Options{Patience: 100 * time.Millisecond}) // it never waits
	return &o
}

// installTasks makes every call of a tool a task, for clients that take tasks. It changes
// nothing for the others, and so every server of this package has it.
func installTasks(w *mrtrtest.World, server *mcp.Server, rt *mrtr.Runtime, tool string) {
	m, err := tasks.Install(server, &tasks.Options{Runtime: rt, Policy: map[string]tasks.Policy{tool: {AtOnce: true}}})
	must(err)
	w.Cleanup(func() { must(m.Close()) })
}

// TaskContracts are the modern calls as tasks. A question that is never answered stays open,
// and so there is no such call among them.
func TaskContracts(modern []mrtrtest.Contract) (contracts []mrtrtest.Contract) {
	for _, c := range modern {
		if !strings.HasSuffix(c.Name, "never answered") {
			contracts = append(contracts, c)
		}
	}
	return contracts
}

// Package contract is what invariant_test.go, at the top of the module, plays: the
// weather tool and two order tools in every style, and the contracts that each style
// has to keep. Its own tests show that the invariant would notice a style that is
// broken, and that a boundary around the styles changes nothing.
package contract

import (
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/statecodec"
)

// weather is the name under which every style is served here. The name is how
// people tell the styles apart, and would be a difference between them.
const weather = "weather"

// AuditsEarly says of each style whether it audits between the two questions, or below the last.
var AuditsEarly = map[string]bool{
	"native": false, "sse_shim": false, "version_branch": false, "two_handlers": false, "given": false,
	"once": true, "steps": true, "coroutine": true, "journal": true,
	"await": true, "naive": true,
}

// Styles are the options and landmines of these names.
func Styles(names ...string) []mrtrtest.Subject {
	var subjects []mrtrtest.Subject
	for _, o := range slices.Concat(options.All, landmine.All) {
		if slices.Contains(names, o.Name) {
			subjects = append(subjects, subjectOf(o.Name, AuditsEarly[o.Name], o.New))
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
func subjectOf(name string, early bool, handler func(*mrtr.Runtime, *options.Audit) options.Handler) mrtrtest.Subject {
	return SubjectUnder(mrtr.Options{}, name, early, handler)
}

// SubjectUnder serves a handler with the policies of opts.
func SubjectUnder(opts mrtr.Options, name string, early bool, handler func(*mrtr.Runtime, *options.Audit) options.Handler) mrtrtest.Subject {
	build := func(w *mrtrtest.World) *mcp.Server {
		own := opts
		rt := runtimeOf(w, &own)
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{SchemaCache: schemas})
		mrtr.AddTool(server, &mcp.Tool{Name: weather}, handler(rt, &options.Audit{Out: w.Effect}))
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

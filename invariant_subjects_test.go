package sdk_test

import (
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/invariant"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/statecodec"
)

// weather is the name under which every style is served here. The name is how
// people tell the styles apart, and would be a difference between them.
const weather = "weather"

// effectAt says where each style audits: below the last question, or between
// the two.
var effectAt = map[string]invariant.Position{
	"native": invariant.AtEnd, "sse_shim": invariant.AtEnd, "version_branch": invariant.AtEnd,
	"two_handlers": invariant.AtEnd,
	"once":         invariant.BetweenQuestions, "steps": invariant.BetweenQuestions, "coroutine": invariant.BetweenQuestions, "journal": invariant.BetweenQuestions,
	"await": invariant.BetweenQuestions, "naive": invariant.BetweenQuestions,
}

// styles are the options and exhibits of these names.
func styles(names ...string) []invariant.Subject {
	var subjects []invariant.Subject
	for _, o := range slices.Concat(options.All, landmine.All) {
		if slices.Contains(names, o.Name) {
			subjects = append(subjects, subjectOf(o.Name, effectAt[o.Name], o.New))
		}
	}
	if len(subjects) != len(names) {
		panic(fmt.Sprintf("only %d of the styles %q exist", len(subjects), names))
	}
	return subjects
}

// allStyles are the options, without the exhibits.
func allStyles() []invariant.Subject {
	var names []string
	for _, o := range options.All {
		names = append(names, o.Name)
	}
	return styles(names...)
}

// schemas spares the many servers of these tests from deriving the same two
// schemas again.
var schemas = mcp.NewSchemaCache()

// subjectOf serves a handler. The instances of one subject share a key.
func subjectOf(name string, at invariant.Position, handler func(*mrtr.Runtime, *options.Audit) options.Handler) invariant.Subject {
	return subjectUnder(mrtr.LegacyInherit, name, at, handler)
}

// subjectUnder serves a handler with a policy for legacy clients.
func subjectUnder(policy mrtr.LegacyPolicy, name string, at invariant.Position, handler func(*mrtr.Runtime, *options.Audit) options.Handler) invariant.Subject {
	key := statecodec.GenerateKey()
	serve := func(effect func(string)) (*mcp.Server, func() error, error) {
		rt, err := mrtr.New(onForcedStore(&mrtr.Options{Legacy: policy, State: &statecodec.Options{Keys: []statecodec.Key{key}}}))
		if err != nil {
			return nil, nil, err
		}
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{SchemaCache: schemas})
		mcp.AddTool(server, &mcp.Tool{Name: weather}, handler(rt, &options.Audit{Out: effect}))
		return server, rt.Close, nil
	}
	return invariant.Subject{Name: name, EffectAt: at, Serve: serve}
}

// resumable is style H that falls back to the journal of style J.
func resumable() invariant.Subject {
	return subjectOf("resumable", invariant.BetweenQuestions, options.Resumable)
}

// Package vet finds the mistakes that tools which ask their users are made
// with: five analyzers over handlers written with go-sdk alone or with mrtr.
//
// They prefer to miss a mistake over reporting one that is none. Each follows a
// value or a call only as far as the source of the one package shows where it
// goes, and is silent beyond.
package vet

import "golang.org/x/tools/go/analysis"

// Analyzers are all analyzers, in the order in which help lists them.
var Analyzers = []*analysis.Analyzer{
	UncheckedAnswer,
	UnsealedState,
	SessionAsk,
	BareEffect,
	AskGoroutine,
}

// analyzer is an analyzer on the shared SSA form.
func analyzer(name, doc string, run func(*program, *reporter)) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     name,
		Doc:      doc,
		URL:      "https://github.com/mrtr-go/sdk/blob/main/docs/vet.md#" + name,
		Requires: []*analysis.Analyzer{build},
		Run: func(pass *analysis.Pass) (any, error) {
			run(programOf(pass), newReporter(pass))
			return nil, nil
		},
	}
}

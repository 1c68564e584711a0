// Package misbehaving is a server of tools that go wrong, each in a way of its
// own. The tests of package boundary put a boundary around it and hold what
// comes out against the table in it; the command in server lets other people's
// clients do the same.
package misbehaving

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
)

// A Case is one way for a tool call to go wrong. The tool is named after it.
// Exactly one of Raw and Typed makes the tool; neither means that the name is one
// that no tool has, or one that the server's middleware reacts to.
type Case struct {
	Name        string
	Explanation string
	Raw         mcp.ToolHandler
	Typed       mcp.ToolHandlerFor[Input, any]
	Output      any    // the tool's output schema
	Arguments   any    // nil means {}
	Wire        string // arguments as raw JSON, in place of Arguments

	Want   probe.Outcome
	Type   string        // the error's type, for error results
	Legacy probe.Outcome // what a client from before gets, where it differs
}

// Input is what the typed tools take.
type Input struct {
	Place string `json:"place,omitempty"`
	Days  int    `json:"days,omitempty"`
}

// Cases are all of them. Those that hang do so until release is closed, for ever
// if it is nil.
func Cases(release <-chan struct{}) []Case {
	return slices.Concat(
		unreturned(release), noResult(), unmarshallable(), failing(release), oversized(), questions(), misused())
}

// Wanted is the outcome that a boundary must give in the era, and the error's
// type, or "" where there is none to compare.
func (c Case) Wanted(era probe.Era) (probe.Outcome, string) {
	want := c.Want
	if era == probe.Legacy && c.Legacy != "" {
		want = c.Legacy
	}
	if want != probe.ErrorResult {
		return want, ""
	}
	return want, c.Type
}

// Package misbehaving is a server of tools that go wrong, each in a different way,
// with a table of the outcomes that a boundary must give. The tests of package
// boundary check them; the command in server lets other people's clients do the same.
package misbehaving

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
)

// A Case is one way for a tool call to go wrong. The tool is named after it.
// At most one of Raw and Typed makes the tool. With neither there is no tool of this
// name, or the server's middleware reacts to it.
type Case struct {
	Name        string
	Explanation string
	Raw         mcp.ToolHandler
	Typed       mcp.ToolHandlerFor[Input, any]
	Add         func(*mcp.Server, *mcp.Tool) // in place of both, for a tool with an input of its own
	Prompt      mcp.PromptHandler            // of a case of prompts alone
	Resource    mcp.ResourceHandler          // of a case of resources alone
	Output      any                          // the tool's output schema
	Arguments   any                          // nil means {}
	Wire        string                       // arguments as raw JSON, in place of Arguments

	Want   probe.Outcome
	Type   string        // the error's type, for error results
	Legacy probe.Outcome // for a legacy client, if it differs

	Elsewhere  probe.Outcome // on prompts and resources, if it does not follow from Want
	NoResource bool          // a resource has no place for the mistake
	Asks       bool          // it asks the user, so that a client that can be asked gets another answer
}

// Input is the input of the typed tools.
type Input struct {
	Place string `json:"place,omitempty"`
	Days  int    `json:"days,omitempty"`
}

// Cases returns all cases. Tools that hang do so until release is closed, or for ever
// if it is nil.
func Cases(release <-chan struct{}) []Case {
	return slices.Concat(
		unreturned(release), noResult(), unmarshallable(), failing(release), oversized(), questions(), misused(),
		afterwards(release), unlawful())
}

// Wanted is the outcome that a boundary must give in the era, and the error's
// type, or "" if there is none to compare.
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

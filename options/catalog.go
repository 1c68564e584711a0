package options

import (
	"embed"

	"github.com/mrtr-go/sdk/mrtr"
)

// Axis is one of the two questions that the styles answer.
type Axis string

const (
	// SingleEffect asks how an effect stays single, although code runs again.
	SingleEffect Axis = "effect"
	// LegacyClients asks how a client is asked that cannot call again.
	LegacyClients Axis = "legacy"
)

// Option is one style of the weather tool.
type Option struct {
	Letter string
	Name   string
	Axis   Axis   // the question that the style answers
	Lesson string // one line for tables and tool descriptions
	New    New
}

// New makes the handler of a style.
type New = func(rt *mrtr.Runtime, card *Card) Handler

// Tool is the name under which the option is served: weather_NAME.
func (o Option) Tool() string { return "weather_" + o.Name }

// All are the nine styles, in the order in which to read them. Each is a function of the file
// that bears its name.
var All = []Option{
	{"E", "native", SingleEffect, "Guards; code below the last one runs in the last round only.", Native},
	{"F", "once", SingleEffect, "Guards; an effect with a name runs once, wherever it stands.", Once},
	{"G", "steps", SingleEffect, "Named steps; a step that does something runs once.", Steps},
	{"H", "coroutine", SingleEffect, "Linear code; the handler is held while the user thinks.", Coroutine},
	{"J", "journal", SingleEffect, "The linear code of H, run again with everything replayed.", Journal},
	{"K", "given", SingleEffect, "Given its answers, each by a function; the handler itself is entered once.", Given},
	{"A", "sse_shim", LegacyClients, "The handler of E; sse.Bridge asks legacy clients.", SSEShim},
	{"C", "version_branch", LegacyClients, "One handler with a branch for legacy clients.", VersionBranch},
	{"D", "two_handlers", LegacyClients, "Two handlers, one for each era.", TwoHandlers},
}

// Source holds the Go files of the styles and of the landmines, for programs that
// show the code they run.
//
//go:embed native.go sse_shim.go version_branch.go two_handlers.go
//go:embed once.go steps.go coroutine.go journal.go given.go resumable.go
//go:embed naive.go landmine/await.go
var Source embed.FS

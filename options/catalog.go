package options

import "github.com/mrtr-go/sdk/mrtr"

// Option is one style of the weather tool.
type Option struct {
	Letter string
	Name   string
	Lesson string // one line for tables and tool descriptions
	New    func(rt *mrtr.Runtime, audit *Audit) Handler
}

// Tool is the name under which the option is served: weather_NAME.
func (o Option) Tool() string { return "weather_" + o.Name }

// All are the eight styles, in the order in which to read them.
var All = []Option{
	{"E", "native", "Guards; code below the last one runs in the last round only.", Native},
	{"A", "sse_shim", "The handler of E; the bridge asks legacy clients.", SSEShim},
	{"C", "version_branch", "One handler with a branch for legacy clients.", VersionBranch},
	{"D", "two_handlers", "Two handlers, one for each era.", TwoHandlers},
	{"F", "once", "Guards; an effect with a name runs once, wherever it stands.", Once},
	{"G", "steps", "Named steps; an effect in a step runs once.", Steps},
	{"H", "coroutine", "Linear code; the handler is held while the user thinks.", Coroutine},
	{"J", "journal", "The linear code of H, run again with everything replayed.", Journal},
}

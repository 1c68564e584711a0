package options

import "github.com/mrtr-go/sdk/mrtr"

// Option is one style of the weather tool.
type Option struct {
	Letter string
	Name   string // the tool is called weather_NAME
	Lesson string
	New    func(rt *mrtr.Runtime, audit *Audit) Handler
}

// Tool is the name under which the option is served.
func (o Option) Tool() string { return "weather_" + o.Name }

// All are the eight styles, in the order in which to read them.
var All = []Option{
	{"E", "native", "The guard is in plain sight: below the last one, once.", Native},
	{"A", "sse_shim", "The same handler; the bridge plays the modern client.", SSEShim},
	{"C", "version_branch", "One handler, two paths, chosen by the revision.", VersionBranch},
	{"D", "two_handlers", "Two handlers, one for each era.", TwoHandlers},
	{"F", "once", "A named effect is remembered, wherever it stands.", Once},
	{"G", "steps", "A step runs once because of where it stands.", Steps},
	{"H", "coroutine", "Linear code, held where it asks.", Coroutine},
	{"J", "journal", "The same linear code, held nowhere: replayed.", Journal},
}

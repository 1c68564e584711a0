// Package charging is the weather tool of package options with its effect in the last
// round: it charges a card when all questions are answered. Where a style of that package
// has its audit above the last question, a request that arrives twice finds the audit in its
// state. A charge below the last question is in no state, so the request charges twice,
// in Once and in a doing step too, unless the server remembers its rounds.
package charging

import (
	"embed"

	"github.com/mrtr-go/sdk/options"
)

// Suffix ends the names of these styles, and of their tools.
const Suffix = "_card"

// All are the styles of [options.All] with a charge, and resumable.
var All = []options.Option{
	{Letter: "E", Name: "native" + Suffix, Axis: options.SingleEffect, Lesson: "Guards; the charge stands below the last one.", New: Native},
	{Letter: "F", Name: "once" + Suffix, Axis: options.SingleEffect, Lesson: "Guards; the charge has a name, below the last one.", New: Once},
	{Letter: "G", Name: "steps" + Suffix, Axis: options.SingleEffect, Lesson: "Named steps; the last one that does something charges.", New: Steps},
	{Letter: "H", Name: "coroutine" + Suffix, Axis: options.SingleEffect, Lesson: "Linear code; the charge follows the last question.", New: Coroutine},
	{Letter: "J", Name: "journal" + Suffix, Axis: options.SingleEffect, Lesson: "The linear code of H, run again with everything replayed.", New: Journal},
	{Letter: "H+J", Name: "resumable" + Suffix, Axis: options.SingleEffect, Lesson: "Held where it asks, and replayed where its handler is gone.", New: Resumable},
	{Letter: "K", Name: "given" + Suffix, Axis: options.SingleEffect, Lesson: "Given its answers; the handler charges.", New: Given},
	{Letter: "A", Name: "sse_shim" + Suffix, Axis: options.LegacyClients, Lesson: "The handler of E; sse.Bridge asks legacy clients.", New: SSEShim},
	{Letter: "C", Name: "version_branch" + Suffix, Axis: options.LegacyClients, Lesson: "One handler with a branch for legacy clients, which charges too.", New: VersionBranch},
	{Letter: "D", Name: "two_handlers" + Suffix, Axis: options.LegacyClients, Lesson: "Two handlers, one for each era; both charge.", New: TwoHandlers},
}

// Source holds the handlers, for programs that show the code they run.
//
//go:embed styles.go
var Source embed.FS

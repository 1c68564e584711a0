// Package landmine holds two ways to write a tool that asks and charges twice. Both look
// right and return the right result; only the card shows the bug.
package landmine

import "github.com/mrtr-go/sdk/options"

// All are the two landmines.
var All = []options.Option{
	{Letter: "B", Name: "await", Axis: options.SingleEffect, Lesson: "Linear code, run again with only the answers replayed.", New: Await},
	{Letter: "N", Name: "naive", Axis: options.SingleEffect, Lesson: "Guards with an effect above one: it happens in each round.", New: options.Naive},
}

// The names of the tool, so that a landmine reads as the styles do.
type (
	Card    = options.Card
	Handler = options.Handler
	Query   = options.Query
	Report  = options.Report
)

var (
	WhichPlace = options.WhichPlace
	Units      = options.Units
	NewReport  = options.NewReport
	Always     = options.Always
)

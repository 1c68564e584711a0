package landmine

import "github.com/mrtr-go/sdk/options"

// All are the two landmines.
var All = []options.Option{
	{Letter: "B", Name: "await", Axis: options.SingleEffect, Lesson: "Linear code, run again with only the answers replayed.", New: Await},
	{Letter: "N", Name: "naive", Axis: options.SingleEffect, Lesson: "Guards with an effect above one: it happens in each round.", New: Naive},
}

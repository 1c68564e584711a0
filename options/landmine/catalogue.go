package landmine

import "github.com/mrtr-go/sdk/options"

// All are the exhibits.
var All = []options.Option{
	{Letter: "B", Name: "await", Lesson: "Looks as if it waited; runs again from the top.", New: Await},
	{Letter: "N", Name: "naive", Lesson: "An effect above a guard: once for each round.", New: Naive},
}

package page

import (
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
)

// optionsPath is the package of the styles, as the runtime names it.
var optionsPath = reflect.TypeFor[options.Option]().PkgPath()

// resumable is coroutine with the journal behind it: a switch on the page, and
// a tool of its own on the wire.
var resumable = options.Option{
	Letter: "H+J", Name: "resumable", Axis: options.SingleEffect, Lesson: "Held where it asks, and replayed where its handler is gone.", New: options.Resumable,
}

// everyStyle lists all that are served: the styles, coroutine's other form, and the
// exhibits.
func everyStyle() []options.Option {
	return slices.Concat(options.All, []options.Option{resumable}, landmine.All)
}

// group says under which heading the page offers a style.
func group(o options.Option) string {
	if slices.ContainsFunc(landmine.All, func(e options.Option) bool { return e.Name == o.Name }) {
		return "exhibit"
	}
	return string(o.Axis)
}

// constructor is the function that makes a style, such as options.Native.
func constructor(o options.Option) (pkg, name string) {
	full := runtime.FuncForPC(reflect.ValueOf(o.New).Pointer()).Name()
	dot := strings.LastIndex(full, ".")
	return full[:dot], full[dot+1:]
}

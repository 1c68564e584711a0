package options

import "embed"

// Source is the source of this package and of landmine below it, for programs
// that show what they run.
//
//go:embed *.go landmine/*.go
var Source embed.FS

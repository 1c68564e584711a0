package options

import "embed"

// Source is the source of the styles and of the exhibits, for programs that
// show what they run.
//
//go:embed native.go sse_shim.go version_branch.go two_handlers.go
//go:embed once.go steps.go coroutine.go journal.go resumable.go
//go:embed landmine/await.go landmine/naive.go
var Source embed.FS

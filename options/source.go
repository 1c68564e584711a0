package options

import "embed"

// Source holds the Go files of the styles and of the landmines, for programs that
// show the code they run.
//
//go:embed native.go sse_shim.go version_branch.go two_handlers.go
//go:embed once.go steps.go coroutine.go journal.go given.go resumable.go
//go:embed naive.go landmine/await.go
var Source embed.FS

// Package options is one weather tool in nine styles, a file for each, and in resumable.go, which
// joins two of them. All of them ask which place is meant if a name fits several, ask for the
// units, charge the card, and report the weather. No client can tell them apart, and the card is charged once: invariant_test.go at the
// top of the module checks both. Only the code differs:
//
//	diff native.go naive.go            the landmine: one line moves up
//	diff native.go once.go             the same line, in Once
//	diff native.go sse_shim.go         a bridge around it
//	diff native.go version_branch.go   a branch for legacy clients
//	diff native.go two_handlers.go     a second handler for them
//	diff coroutine.go journal.go       held, and replayed: one word
//
// Start with native.go. Each style answers one of two questions:
//
//   - How does an effect happen once, although code runs again? native and given charge below the
//     last question, where only the last round comes. once, coroutine, journal and resumable
//     charge between the questions, in [mrtr.Once]. steps does too, and needs no wrapper: the engine runs each
//     step once.
//   - How does a legacy client get asked, which cannot call again? sse_shim, version_branch and
//     two_handlers. They charge where native does.
//
// naive.go and package landmine are wrong on purpose. basic.go and multiround.go are the smallest
// handlers that ask. docs/styles.md says which style to take.
package options

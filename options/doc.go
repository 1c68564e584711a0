// Package options is one weather tool written in every handler style, one file
// for each. All of them find the place, ask which one if the name fits several,
// ask for the units, charge the card, and report the weather. A file holds one
// function and nothing else, so plain diff of two files shows two styles:
//
//	diff native.go naive.go            the landmine: one line moves up
//	diff native.go once.go             the same line, in Once
//	diff native.go sse_shim.go         a bridge around it
//	diff native.go version_branch.go   a branch for legacy clients
//	diff native.go two_handlers.go     a second handler for them
//	diff coroutine.go journal.go       held, and replayed: one word
//
// The styles answer two questions, and each file answers one of them:
//
//   - How does an effect stay single, although code runs again? native, once,
//     steps, coroutine, journal, given.
//   - How does a legacy client, which cannot call again, get asked? sse_shim,
//     version_branch, two_handlers. They keep the effect single as native does.
//
// # Where the charge stands
//
// The charge is the tool's effect: it must happen once for each call that completes.
// It stands as early as its style can be trusted with it:
//
//   - in native, given, sse_shim, version_branch and two_handlers below the last
//     question, because every line above a guard runs again in each later round. A
//     call that is declined has charged nothing;
//   - in once, coroutine and journal between the two questions, inside [mrtr.Once],
//     which remembers that it ran. A call whose second question is declined has
//     charged;
//   - in steps between the two questions too, in a doing step: the engine runs a
//     step of the list once, so there is no wrapper to forget.
//
// A client cannot tell the styles apart: invariant_test.go at the top of the
// module checks that, and that the card is charged once. Start with native.go.
// naive.go and package landmine hold two ways to get it wrong. docs/styles.md compares the
// styles, with what each costs, and says which one to take.
//
// basic.go and multiround.go are the two smallest handlers that ask at all.
package options

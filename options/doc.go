// Package options is one weather tool written in every handler style, one file
// for each. All of them find the place, ask which one if the name fits several,
// ask for the units, write one line of audit, and report the weather. So the
// difference between two files is the difference between two styles.
//
// The styles answer two questions, and each file answers one of them:
//
//   - How does an effect stay single, although code runs again? native, once,
//     steps, coroutine, journal.
//   - How does a legacy client, which cannot call again, get asked? sse_shim,
//     version_branch, two_handlers. They keep the effect single as native does.
//
// # Where the audit stands
//
// The audit line is the tool's effect: it must be written once for each call that
// completes. It stands as early as its style can be trusted with it:
//
//   - in native, sse_shim, version_branch and two_handlers below the last guard,
//     because every line above a guard runs again in each later round. A call that
//     is declined has written nothing;
//   - in once, coroutine and journal between the two questions, inside [mrtr.Once],
//     which remembers that it ran. A call whose second question is declined has
//     written its line;
//   - in steps between the two questions too, in a doing step: the engine runs a
//     step of the list once, so there is no wrapper to forget.
//
// A client cannot tell the styles apart: invariant_test.go at the top of the
// module checks that, and that the line is written once. Start with native.go.
// Package landmine holds two ways to get it wrong. docs/styles.md compares the
// styles and says which one to take.
//
// basic.go and multiround.go are the two smallest handlers that ask at all.
package options

// Package options is one weather tool written in every handler style, one file
// for each. All of them find the place, ask which one if the name fits several,
// ask for the units, write one line of audit, and report the weather. So the
// difference between two files is the difference between two styles.
//
// A client cannot tell the styles apart: invariant_test.go at the top of the
// module checks that. Start with native.go. Package landmine holds two ways to
// get it wrong.
//
// basic.go and multiround.go are the two smallest handlers that ask at all.
package options

// Package options is one weather tool written in every handler style, a file a
// style. They do the same thing: find the place, ask which one if the name fits
// several, ask for the units, write one line into the audit log, report. What
// differs between two files is what differs between two styles.
//
// To a client they cannot be told apart, which invariant_test.go at the top of
// the module proves. Start with native.go. Package landmine, below this one,
// holds the two ways to get it wrong.
//
// basic.go and multiround.go are the two smallest handlers that ask at all.
package options

// Package probe calls the read-only tools of a running MCP server, with good
// input and with bad, and says of each rule whether the server kept it.
//
// It speaks raw JSON-RPC, by package wire: a client library repairs or hides many
// of the faults that the rules are about. Tools that are not annotated read-only
// are never called.
//
// [Probe] and [Run] try the rules; [Judge] is the rule about a single answer, for use
// in tests. prove.Sweep reports the findings of a probe as proofs are reported. The
// package stays beneath package prove and is not folded into it: the tests of the
// boundary judge by it too, and they must not need the rules of rounds.
package probe

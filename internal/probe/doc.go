// Package probe calls the read-only tools of a running MCP server, with good
// input and with bad, and says of each rule whether the server kept it.
//
// It speaks raw JSON-RPC, by package wire: a client library repairs or hides many
// of the faults that the rules are about. Tools that are not annotated read-only
// are never called.
//
// [Run] tries the rules with a client from [Dial]; [Judge] is the rule about a
// single answer, for use in tests.
package probe

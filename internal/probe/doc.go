// Package probe calls the read-only tools of a running MCP server, with good
// input and with bad, and says of each rule whether the server kept it.
//
// It speaks raw JSON-RPC. A client library repairs or hides much of what it
// looks for: a result without resultType, two answers to one request, an output
// that breaks its schema.
//
// Tools that are not annotated read-only are never called. [Run] is the whole of
// it; [Judge] is the rule about a single answer, for use in tests.
package probe

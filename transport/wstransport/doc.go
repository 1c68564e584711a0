// Package wstransport carries the Model Context Protocol over WebSocket, for
// servers and clients, as transports of go-sdk.
//
// A [Handler] serves every connection of an HTTP endpoint; [Dial] is the client's side.
// Both speak the subprotocol "mcp" and nothing else: one JSON-RPC message is one text
// message, and batches are not messages. Compression is never negotiated.
//
// Both eras of the protocol work on one connection. Requests of 2026-07-28 and
// later say their version in _meta and ask through incomplete results. Legacy
// clients initialize first and are asked over the connection, which runs both
// ways. As over stdio, a connection is one session without an id: nobody can come back.
//
// # How a connection ends
//
// The close code says why:
//
//	1000  the session was closed
//	1001  the server is shutting down, or the context of its request ended
//	1002  the peer broke the framing rules of WebSocket
//	1003  a binary message
//	1007  a text message that is not UTF-8, or not exactly one JSON-RPC message
//	1008  the bearer token that opened the connection expired, no request came
//	      within 30 seconds, or a message took longer than a minute
//	1009  a message over MaxMessageBytes
//	1011  nothing was heard from the peer for 40 seconds, pongs included
//
// A peer that does not read for 30 seconds, or leaves more than 64 MiB of several messages
// unread, is dropped without a code: the message it did not take is half sent, and a close
// frame cannot follow half a message. It sees 1006, as it does when this end is killed.
//
// Text that is no JSON-RPC message closes the connection and is not answered
// with a parse error. go-sdk ends a session on the first message that it cannot
// read, and after an error without an id the peer would wait forever for the call
// that it belongs to.
//
// However it ends, the context of every request that is running is cancelled as
// soon as this end notices, and its open questions to the client return an error.
// [context.Cause] of such a context, and the Wait method of the session, give a
// [*CloseError] when either side sent a code other than 1000. After 1000 the cause is
// [io.EOF], and Wait returns nil.
package wstransport

// Subprotocol is what both ends must offer and accept in the WebSocket
// handshake.
const Subprotocol = "mcp"

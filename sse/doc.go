// Package sse serves legacy clients in full, for any handler written for
// revision 2026-07-28 of the Model Context Protocol or a later one. A legacy
// client is one that speaks an earlier revision.
//
// Since 2026-07-28 a handler that needs something from the user returns an
// input-required result and is called again with the answers. A legacy client
// cannot do that: it expects to be asked over its open stream, in the middle of
// the call. go-sdk helps such a client through one extra round and then sends it
// the second round's questions as if they were the result.
//
// [Bridge] corrects that. It wraps any go-sdk tool, prompt or resource handler,
// and on a legacy request plays the modern client's part itself: it puts the
// questions over the session, calls the handler again with the answers and the
// state, and goes on for as many rounds as the handler takes. On a modern
// request it calls the handler and does nothing else.
//
// Outside of this module the package needs go-sdk and the standard library alone, and
// it does not import package mrtr.
package sse

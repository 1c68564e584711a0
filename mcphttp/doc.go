// Package mcphttp serves clients of both eras of the Model Context Protocol on
// one URL: those of revision 2026-07-28 and later, which need no session, and
// legacy ones, which are asked over theirs.
//
// go-sdk serves one era with one HTTP handler. [NewHandler] stands in front of
// two of them and routes each request by what it says of itself. It also keeps
// out what a browser was tricked into sending, bounds bodies, cancels the calls
// of a client that hangs up, and drains ([Handler.Shutdown]).
package mcphttp

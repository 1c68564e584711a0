// Package mcphttp serves clients of both eras of the Model Context Protocol on
// one URL: those of revision 2026-07-28 and later, which need no session, and
// legacy ones, which are asked over theirs.
//
// go-sdk serves one era with one HTTP handler. [NewHandler] stands in front of
// two of them and routes each request by the version that it names. Usual calls of modern
// clients go past both, straight to the server's middleware. It also
// refuses cross-origin requests of web pages, bounds bodies, cancels the calls of
// a client that hangs up, and drains ([Handler.Shutdown]).
//
// [NewRouter] stands in front of several such servers, and sends a request to the one
// that it belongs to.
package mcphttp

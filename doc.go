// Package sdk is the front page of mrtr: Model Context Protocol tools in Go
// that stop to ask the user something, on the official go-sdk. The package
// itself is empty. Its test holds a promise that spans packages: every style is
// the same tool to a client.
//
// # The problem
//
// Since revision 2026-07-28 of the protocol (SEP-2322, multi round-trip requests)
// a server can't call its client back. A tool that needs its user returns
// input_required: its questions (elicitations, sampling, roots), plus an opaque
// request state. The client asks, and calls the tool again from the top with the
// answers and the state.
//
// This is hard in three ways. Everything above a question runs again on every
// round. The state that comes back may be forged, stale or somebody else's. And
// legacy clients (2025-11-25 and earlier) never call again, so they must be asked
// while their single request is still open. mrtr solves all three.
//
// # The packages
//
//   - [github.com/mrtr-go/sdk/mrtr] is the engine, with the style of guards. Prompts and
//     resources ask in the same way as tools. Start there. The packages steps, given and
//     linear beside it have the other styles.
//   - [github.com/mrtr-go/sdk/mrtr/durable] keeps rounds in a
//     [github.com/mrtr-go/sdk/store], so that a repeated request runs nothing.
//   - [github.com/mrtr-go/sdk/serve] serves all of it over HTTP in one call.
//   - [github.com/mrtr-go/sdk/statecodec] seals the request state. Its
//     format is in SPEC.md, with test vectors.
//   - [github.com/mrtr-go/sdk/sse] asks legacy clients over their session,
//     for any go-sdk handler. mrtr does so by itself.
//   - [github.com/mrtr-go/sdk/transport/mcphttp] serves modern and legacy clients on
//     one URL; [github.com/mrtr-go/sdk/transport/wstransport] carries MCP over
//     WebSocket, and [github.com/mrtr-go/sdk/transport/stdio] over standard input and output.
//   - [github.com/mrtr-go/sdk/boundary] makes every call end in exactly one
//     well-formed result, whatever the tool does.
//   - [github.com/mrtr-go/sdk/boundary/transcript] finds tool uses without a result
//     in a conversation with a model.
//   - [github.com/mrtr-go/sdk/sse/era] knows the revision of a request and the
//     capabilities of its client.
//   - [github.com/mrtr-go/sdk/mrtr/mrtrtest] tests tools that ask, and
//     [github.com/mrtr-go/sdk/prove] judges any server that has some.
//   - [github.com/mrtr-go/sdk/options] is one weather tool in every style,
//     to read and to compare.
//
// The command cmd/weather-demo shows what happens between client and server; in a clone:
//
//	go run ./cmd/weather-demo
package sdk

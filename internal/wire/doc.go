// Package wire is a raw MCP client: JSON-RPC and no more. It retries nothing,
// repairs nothing and validates nothing. It sends each message as it was told
// to, answers a question with whatever JSON its script holds, and records every
// message in both directions. A client library hides many faults of a server,
// for instance a missing resultType, a second answer to one request, or
// questions leaked to a client that cannot answer them; this one shows them.
//
//	client, err := wire.Connect(ctx, server, nil)
//	...
//	defer client.Close()
//	out, err := client.Call(ctx, "weather", map[string]any{"location": "Lisbon"}, wire.Answers{
//		"units": wire.Value("metric"),
//	})
//	// out.Rounds, out.Questions, out.Text, out.Structured, out.IsError, out.Error
//
// # Connecting
//
// [Connect] reaches a server in memory, [Dial] one behind any [mcp.Transport]
// (stdio, a pipe, a WebSocket), [DialHTTP] one behind a streamable HTTP
// endpoint. [Client.Close] hangs up.
//
// # Both eras
//
// A modern client, the default, puts its version and capabilities into the _meta
// of each request. A legacy client ([Options.Version] before [Modern]) sends
// initialize first, and answers the questions that come over its connection.
//
// # Sending
//
// From the most comfortable to the rawest: [Client.Call] makes a tool call with
// all of its rounds, [Client.Run] does so for any method, [Client.Send] makes one
// request and reads the reply, [Client.Exchange] returns the response unread,
// [Client.Start] does not wait for it, and [Client.Write] sends any message.
//
// # Looking
//
// [Client.Messages] is the record. [Client.Requests], [Client.Responses],
// [Client.Surplus] and [Client.Asked] count and pick from it.
package wire

// Package stdio carries the Model Context Protocol over the standard input and output
// of a server, as a transport of go-sdk:
//
//	transport, err := stdio.New(nil)
//	err = server.Run(ctx, transport)
//
// go-sdk's own transport ends with every call in flight on the first line that is no
// message, answers a call that reuses an id in flight without any id, and rounds ids
// beyond 2^53. This one keeps the connection:
//
//   - A line that is not one JSON-RPC message gets an error without an id: -32700 if
//     it is not JSON, -32600 if it is another value, a batch, or longer than
//     Options.MaxMessageBytes. If the line was meant as a call, that call gets no
//     other answer, because its id cannot be read. All other calls go on.
//   - A call that is in flight and arrives again gets the answer too, and runs once.
//   - Another call under an id that is in flight, or one beyond Options.MaxCalls, gets an error
//     and no handler. So does a call whose answers contain a duplicate member.
//   - A response has the id exactly as the call wrote it, however many digits.
//
// Both eras of the protocol work. A connection is one session, and ends with the input.
package stdio

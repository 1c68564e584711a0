// Package wire is a client that does nothing on its own: no retries, no
// validation, no decoding into types. It sends what it is told, answers a
// question with whatever JSON the script holds for it, fit or not, and keeps
// every frame. What a careful client would hide, a test sees here.
//
//	client, err := wire.Connect(ctx, server, nil)
//	...
//	out, err := client.Call(ctx, "weather", map[string]any{"location": "Lisbon"}, wire.Answers{
//		"units": wire.Value("metric"),
//	})
//	// out.Rounds, out.Questions, out.Text, out.Structured, out.IsError, out.Error
//
// [Client.Call] goes through all rounds of a call with a script of answers;
// [Client.Send] makes one request, for tests that forge, replay or reorder
// rounds themselves.
//
// Clients of revision 2026-07-28 put their version and capabilities into each
// request; older ones shake hands first, and answer the questions that come
// over their connection from the same script.
package wire

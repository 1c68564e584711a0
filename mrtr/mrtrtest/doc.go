// Package mrtrtest tests tools that stop to ask the user something. It works on
// any server of go-sdk, whether its handlers are made with package mrtr or written
// by hand, and needs no ports, no processes and no sleeping.
//
// A test brings a function that builds the server. The function gets a [World],
// and the code under test says there when it has had an effect:
//
//	func newDesk(w *mrtrtest.World) *mcp.Server {
//		server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
//		mcp.AddTool(server, &mcp.Tool{Name: "book"}, book(func() { w.Effect("charge") }))
//		return server
//	}
//
// # One call
//
// [Call] calls a tool, answers its questions from a script and returns the
// outcome. The same script serves clients of both eras, and those that
// take tasks ([Options]):
//
//	script := mrtrtest.Script{
//		Tool: "book", Arguments: map[string]any{"to": "Lisbon"},
//		Answers: mrtrtest.Answers{"seat": {mrtrtest.Value("window")}},
//	}
//	out := mrtrtest.Call(t, newDesk, script, nil)
//	out.WantEffects(t, "charge")
//
// An answer is [Value], [Accept], [Decline], [Cancel], [Missing], or any JSON
// at all ([Raw]). With Options.FreshInstances each request reaches an instance that
// was built for it, as behind a load balancer, or after the one that asked was killed:
// its memory is gone, and a secret that a server makes for itself is another one. Secrets
// that the instances of one deployment share come from [World.Key], stores of rounds from
// [World.Store], and databases from [Shared].
//
// [Outcome.WantEffects] says in which request an effect happened too often, which
// is the usual fault of a tool that is called again from the top.
//
// # Transcripts
//
// [Outcome.Transcript] is the call as text, with each effect where it happened.
// [Golden] compares it with a file, and writes the file with -update.
//
// # One tool, written in several ways
//
// [Alike] checks that no client can tell a handler from its rewrite.
//
// # Attacks
//
// [github.com/mrtr-go/sdk/prove/provetest] tries dozens of rules against a tool that is built
// for this package: altered states, lost responses, dead instances, hostile answers. It is a
// module of its own. A harness of your own starts the instances of a [Deployment] itself.
package mrtrtest

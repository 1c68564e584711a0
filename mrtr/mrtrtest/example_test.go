package mrtrtest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
)

// newDesk serves the tool book, which asks for a seat and then charges the card.
func newDesk(w *mrtrtest.World) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, book(func() { w.Effect("charge") }))
	return server
}

// The same script serves a client of either era.
func ExampleCall() {
	t := inExample{} // in a test: its *testing.T

	script := mrtrtest.Script{
		Tool: "book", Arguments: map[string]any{"to": "Lisbon"},
		Answers: mrtrtest.Answers{"seat": {mrtrtest.Value("window")}},
	}
	out := mrtrtest.Call(t, newDesk, script, nil)
	out.WantEffects(t, "charge")
	fmt.Println(out.Requests, "requests:", out.Text)

	out = mrtrtest.Call(t, newDesk, script, &mrtrtest.Options{Era: mrtrtest.Legacy})
	out.WantEffects(t, "charge")
	fmt.Println(out.Requests, "request:", out.Text)

	// Output:
	// 2 requests: {"text":"Booked to Lisbon, window."}
	// 1 request: {"text":"Booked to Lisbon, window."}
}

// The commonest fault of a tool that is called again from the top: an effect above
// the question.
func ExampleOutcome_WantEffects() {
	t := inExample{} // in a test: its *testing.T

	build := serve(func(w *mrtrtest.World) mcp.ToolHandlerFor[trip, booking] {
		book := book(func() {})
		return func(ctx context.Context, req *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, booking, error) {
			w.Effect("charge")
			return book(ctx, req, in)
		}
	})
	script := mrtrtest.Script{
		Tool: "book", Arguments: map[string]any{"to": "Lisbon"},
		Answers: mrtrtest.Answers{"seat": {mrtrtest.Value("window")}},
	}
	mrtrtest.Call(t, build, script, nil).WantEffects(t, "charge")

	// Output:
	// the effects of a call that made 2 requests
	//   want: charge
	//   got:  charge (request 1), charge (request 2)
}

// The sections of a transcript. In a test, Golden compares it with a file: mrtrtest.Golden(t,
// "testdata/book.txtar", out.Transcript()).
func ExampleOutcome_Transcript() {
	t := inExample{} // in a test: its *testing.T

	out := mrtrtest.Call(t, newDesk, mrtrtest.Script{
		Tool: "book", Arguments: map[string]any{"to": "Lisbon"},
		Answers: mrtrtest.Answers{"seat": {mrtrtest.Value("window")}},
	}, nil)
	for line := range strings.Lines(out.Transcript()) {
		if strings.HasPrefix(line, "-- ") {
			fmt.Print(line)
		}
	}

	// Output:
	// -- client tools/call --
	// -- server asks --
	// -- client tools/call --
	// -- effect charge --
	// -- server result --
}

// inExample stands for a *testing.T, which an example has not.
type inExample struct{ testing.TB }

func (inExample) Helper()                           {}
func (inExample) Context() context.Context          { return context.Background() }
func (inExample) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (inExample) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }

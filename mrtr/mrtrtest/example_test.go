package mrtrtest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/statecodec"
)

// newDesk serves the tool book, which asks for a seat and then charges the card.
func newDesk(w *mrtrtest.World) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, book(func() { w.Effect("charge") }))
	return server
}

// A user takes the window seat, and another one none. The same script serves a client of either
// era.
func ExampleCall() {
	t := inExample{} // in a test: its *testing.T

	script := mrtrtest.Script{
		Tool: "book", Arguments: map[string]any{"to": "Lisbon"},
		Answers: mrtrtest.Answers{"seat": {mrtrtest.Value("window")}},
	}
	out := mrtrtest.Call(t, newDesk, script, nil)
	out.WantEffects(t, "charge")
	fmt.Println(out.Text, "Requests:", out.Requests)

	out = mrtrtest.Call(t, newDesk, script, &mrtrtest.Options{Era: mrtrtest.Legacy})
	out.WantEffects(t, "charge")
	fmt.Println(out.Text, "Requests:", out.Requests)

	script.Answers["seat"] = []mrtrtest.Answer{mrtrtest.Decline}
	out = mrtrtest.Call(t, newDesk, script, nil)
	out.WantEffects(t)
	fmt.Println(out.Text)

	// Output:
	// {"text":"Booked to Lisbon, window."} Requests: 2
	// {"text":"Booked to Lisbon, window."} Requests: 1
	// {"text":"Nothing was booked."}
}

// An instance is killed while the user thinks, and the next one goes on: with FreshInstances
// each request reaches one of its own. They have the key and the store of their World. The
// runtime is closed by nobody, as where a process is killed.
func ExampleCall_killed() {
	t := inExample{} // in a test: its *testing.T

	started := 0
	build := func(w *mrtrtest.World) *mcp.Server {
		started++
		name := fmt.Sprint("instance ", started)
		w.Cleanup(func() { fmt.Println(name, "is gone") })
		key, err := statecodec.NewKey(w.Key())
		if err != nil {
			panic(err)
		}
		rt, err := mrtr.New(&mrtr.Options{
			State:   &statecodec.Options{Keys: []statecodec.Key{key}},
			Durable: durable.In(w.Store(), nil),
		})
		if err != nil {
			panic(err)
		}
		server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
		mrtr.Add(server, rt, &mcp.Tool{Name: "book"}, linear.Journal(func(ctx context.Context, c *mrtr.Call, in trip) (booking, error) {
			err := mrtr.Do(ctx, c, "hold", func(context.Context, string) error { w.Effect("hold by " + name); return nil })
			if err != nil {
				return booking{}, err
			}
			where, err := linear.Ask(ctx, c, seat)
			return booking{where + ", from " + name}, err
		}))
		return server
	}
	out := mrtrtest.Call(t, build, toLisbon(mrtrtest.Value("window")), &mrtrtest.Options{FreshInstances: true})
	fmt.Println(out.Effects, string(out.Structured))
	// Output:
	// instance 1 is gone
	// instance 2 is gone
	// [hold by instance 1] {"text":"window, from instance 2"}
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

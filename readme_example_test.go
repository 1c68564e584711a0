package sdk_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

type Trip struct {
	To string `json:"to"`
}

type Booking struct {
	Report string `json:"report"`
}

func (b Booking) Text() string { return b.Report }

var seat = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)

func bookGuarded(ctx context.Context, c *mrtr.Call, trip Trip) (*mrtr.IncompleteResult, Booking, error) {
	chosen, ok := mrtr.Answer(c, seat)
	if !ok {
		return mrtr.Need(seat), Booking{}, nil // the client asks, and calls again from the top
	}
	return nil, Booking{"Booked to " + trip.To + ", " + chosen + "."}, nil
}

func bookLinear(ctx context.Context, c *mrtr.Call, trip Trip) (Booking, error) {
	hold, err := mrtr.Once(ctx, c, "hold", func(ctx context.Context, idem string) (string, error) {
		return desk.Hold(ctx, idem, trip.To)
	})
	if err != nil {
		return Booking{}, err
	}
	chosen, err := mrtr.Ask(ctx, c, seat)
	if err != nil {
		return Booking{}, err
	}
	return Booking{"Booked " + hold + ", " + chosen + "."}, nil
}

func bookInSteps() (mrtr.Style[Trip, Booking], error) {
	var b mrtr.Steps[Trip, Booking]
	hold := mrtr.DoStep(&b, "hold", func(ctx context.Context, at *mrtr.At[Trip], idem string) (string, error) {
		return desk.Hold(ctx, idem, at.In.To)
	})
	chosen := mrtr.AskStep(&b, "seat", func(ctx context.Context, at *mrtr.At[Trip]) (mrtr.Question[string], error) {
		return seat, nil
	})
	b.End(func(ctx context.Context, at *mrtr.At[Trip]) (Booking, error) {
		return Booking{"Booked " + hold.Of(at) + ", " + chosen.Of(at) + "."}, nil
	})
	return b.Build()
}

// desk is somewhere else, and counts.
var desk travelDesk

type travelDesk struct{ held int }

func (d *travelDesk) Hold(_ context.Context, idem, to string) (string, error) {
	d.held++
	return "a seat to " + to, nil
}

func register(server *mcp.Server) (*mrtr.Runtime, error) {
	rt, err := mrtr.New(nil)
	if err != nil {
		return nil, err
	}
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, mrtr.Native(bookGuarded), nil))
	return rt, nil
}

func Example_native() {
	server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil)
	rt, err := register(server)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	fmt.Println(call(server, "book"))
	// Output:
	// asked: Which seat?
	// Booked to Lisbon, window.
}

func Example_linear() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	steps, err := bookInSteps()
	if err != nil {
		panic(err)
	}
	for _, style := range []mrtr.Style[Trip, Booking]{mrtr.Journal(bookLinear), mrtr.Coroutine(bookLinear), steps} {
		desk.held = 0
		server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, style, nil))
		fmt.Println(call(server, "book"), "held:", desk.held)
	}
	// Output:
	// asked: Which seat?
	// Booked a seat to Lisbon, window. held: 1
	// asked: Which seat?
	// Booked a seat to Lisbon, window. held: 1
	// asked: Which seat?
	// Booked a seat to Lisbon, window. held: 1
}

func guardEveryCall(server *mcp.Server) error {
	return boundary.Install(server, nil)
}

func Example_boundary() {
	log := slog.Default() // which is told of the panic, and where it was
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(log)
	server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, func(context.Context, *mcp.CallToolRequest, Trip) (*mcp.CallToolResult, any, error) {
		panic("no seats")
	})
	if err := guardEveryCall(server); err != nil {
		panic(err)
	}
	fmt.Println(call(server, "book"))
	// Output:
	// Tool "book" failed because of a fault in the server. The arguments are not the reason.
}

func bothEras(server *mcp.Server) (http.Handler, error) {
	return mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

func Example_bothEras() {
	handler, err := bothEras(mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil))
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(handler)
	defer web.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "user", Version: "1"}, nil)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: web.URL}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			panic(err)
		}
		fmt.Println(session.InitializeResult().ProtocolVersion)
		session.Close()
	}
	// Output:
	// 2025-11-25
	// 2026-07-28
}

func sharedKeys() (*mrtr.Runtime, error) {
	keys, err := statecodec.KeysFromEnv("MRTR_KEYS") // the first seals, all open
	if err != nil {
		return nil, err
	}
	return mrtr.New(&mrtr.Options{
		State:    &statecodec.Options{Keys: keys},
		Observer: mrtr.LogObserver(slog.Default()),
	})
}

func Example_sharedKeys() {
	os.Setenv("MRTR_KEYS", statecodec.GenerateKey().Text())
	defer os.Unsetenv("MRTR_KEYS")
	rt, err := sharedKeys()
	if err != nil {
		panic(err)
	}
	fmt.Println(rt.Close())
	// Output: <nil>
}

// call calls a tool as a user who takes the first choice.
func call(server *mcp.Server, tool string) string {
	ctx := context.Background()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		panic(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "user", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("asked:", req.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": "window"}}, nil
		},
	})
	session, err := client.Connect(ctx, clientSide, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: Trip{"Lisbon"}})
	if err != nil {
		panic(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

package mcphttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

type booking struct {
	Booked string `json:"booked"`
}

var seat = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)

// startInstance starts one instance of a server. Its tool is held between its rounds, so
// that the answer must come to the instance that asked.
func startInstance(name string, keys []statecodec.Key) *httptest.Server {
	rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: keys, Instance: name}})
	if err != nil {
		log.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "airline", Version: "1"},
		&mcp.ServerOptions{GetSessionID: mcphttp.SessionIDs(name)}) // of legacy clients
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ struct{}) (booking, error) {
		fmt.Println("asked at", name)
		chosen, err := linear.Ask(ctx, c, seat)
		fmt.Println("answered at", name)
		return booking{chosen}, err
	}), nil))
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		log.Fatal(err)
	}
	return httptest.NewServer(handler)
}

// Two instances with the same keys, and a router in front of them. While the user thinks,
// the instance that asked stops to take new clients. The answer goes there nevertheless, and
// so does that of a legacy client, whose session is there.
func ExampleRouter() {
	keys := []statecodec.Key{statecodec.GenerateKey()} // all instances have the same
	instances := map[string]*url.URL{}
	for _, name := range []string{"a", "b"} {
		web := startInstance(name, keys)
		defer web.Close()
		address, err := url.Parse(web.URL)
		if err != nil {
			log.Fatal(err)
		}
		instances[name] = address
	}
	var ready atomic.Value // a real front keeps the answers of ServeReady
	router, err := mcphttp.NewRouter(instances, &mcphttp.RouterOptions{Ready: func(instance string) bool { return instance == ready.Load() }})
	if err != nil {
		log.Fatal(err)
	}
	front := httptest.NewServer(router)
	defer front.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			ready.Store("b")
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": "window"}}, nil
		},
	})
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		ready.Store("a")
		session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: front.URL}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			log.Fatal(err)
		}
		for range 2 {
			result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "book"})
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(version, result.Content[0].(*mcp.TextContent).Text)
		}
		session.Close()
	}
	// Output:
	// asked at a
	// answered at a
	// 2026-07-28 {"booked":"window"}
	// asked at b
	// answered at b
	// 2026-07-28 {"booked":"window"}
	// asked at a
	// answered at a
	// 2025-11-25 {"booked":"window"}
	// asked at a
	// answered at a
	// 2025-11-25 {"booked":"window"}
}

package mcphttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// One handler, two eras: a legacy client opens a session, a modern one needs
// none.
func ExampleNewHandler() {
	server := wire.NewTripServer(sse.Bridge(wire.Trip, nil))
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer handler.Shutdown(context.Background())

	for _, call := range []struct{ version, method, body string }{
		{"", "initialize", initializeBody},
		{"2026-07-28", "tools/list", modernListBody},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(call.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", call.version)
		r.Header.Set("Mcp-Method", call.method)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(call.method, w.Code, "session:", w.Header().Get("Mcp-Session-Id") != "")
	}

	// Output:
	// initialize 200 session: true
	// tools/list 200 session: false
}

// A server that stops drains its handler first: the running call still gets its
// result, and new ones are refused. The listener closes after that.
func ExampleHandler_Shutdown() {
	started := make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "work"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		close(started)
		time.Sleep(20 * time.Millisecond)
		return nil, "done", nil
	})
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(handler)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).
		Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: web.URL}, nil)
	if err != nil {
		log.Fatal(err)
	}
	called := make(chan string)
	go func() {
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "work"})
		if err != nil {
			log.Fatal(err)
		}
		called <- fmt.Sprint(res.StructuredContent)
	}()
	<-started

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println("drained:", handler.Shutdown(ctx) == nil)
	fmt.Println("result:", <-called)
	res, err := http.Post(web.URL, "application/json", strings.NewReader(initializeBody))
	if err != nil {
		log.Fatal(err)
	}
	res.Body.Close()
	fmt.Println("one more:", res.Status)
	session.Close()
	web.Close()

	// Output:
	// drained: true
	// result: done
	// one more: 503 Service Unavailable
}

package mcphttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/sse"
)

// One handler, two eras: a legacy client opens a session, a modern one needs
// none.
func ExampleNewHandler() {
	server := trip.NewServer(sse.Bridge(trip.Handler, nil))
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

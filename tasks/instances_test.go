package tasks_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// serveVariable makes [TestEveryRequestGoesToTheOtherInstance] serve its instances until its
// input ends. The tests of interop set it.
const serveVariable = "TASKS_TEST_SERVE"

// instancesOf are the places at which a style is served: one instance without a store, and
// two that share one, of which every request goes to the other one.
var instancesOf = map[string]int{"one": 1, "two": 2}

// serveInstances serves every style at every place, under /style/place/mcp. The effects since
// the last look are under /style/place/effects.
func serveInstances(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	for _, style := range styleNames {
		for place, instances := range instancesOf {
			s := setting{style: style, policy: atOnce, did: &ledger{}, options: tasks.Options{PollInterval: 10 * time.Millisecond}}
			if instances > 1 {
				s.records, s.keys = machine{store.NewMemory(nil)}, []statecodec.Key{statecodec.GenerateKey()}
			}
			var fronts []http.Handler
			for range instances {
				fronts = append(fronts, front(t, newSite(t, s).server, os.Getenv("MRTR_STOCK_FRONT") == "1"))
			}
			var turn atomic.Int64
			mux.HandleFunc("/"+style+"/"+place+"/mcp", func(w http.ResponseWriter, r *http.Request) {
				fronts[int(turn.Add(1))%instances].ServeHTTP(w, r)
			})
			mux.HandleFunc("/"+style+"/"+place+"/effects", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, s.did.take())
			})
		}
	}
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web
}

func front(t *testing.T, server *mcp.Server, stock bool) http.Handler {
	h, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{StockFront: stock})
	require.NoError(t, err)
	return h
}

// Two instances that share a store serve a task together, in every style but a coroutine, with
// each request at the other one: it is asked, answered, and cancelled.
func TestEveryRequestGoesToTheOtherInstance(t *testing.T) {
	web := serveInstances(t)
	if os.Getenv(serveVariable) != "" {
		fmt.Printf("listening on %s\n", web.URL)
		_, err := io.Copy(io.Discard, os.Stdin)
		require.NoError(t, err)
		return
	}
	cells := 0
	for _, style := range styleNames {
		for place := range instancesOf {
			if style == "coroutine" && place == "two" {
				continue
			}
			for _, cancels := range []bool{false, true} {
				cells++
				t.Run(fmt.Sprintf("%s/%s/cancels=%t", style, place, cancels), func(t *testing.T) {
					url := web.URL + "/" + style + "/" + place
					w, err := wire.DialHTTP(t.Context(), url+"/mcp", web.Client(), &wire.Options{Capabilities: takesTasks})
					require.NoError(t, err)
					defer w.Close()
					c := client{t, w}
					s := c.settle(c.call().TaskID)
					status, effects := "completed", "hold ticket"
					if cancels {
						c.cancel(s.TaskID)
						status, effects = "cancelled", undoneAfter(style, asksFirst)
					}
					require.Equal(t, status, c.finish(s.TaskID).Status)
					res, err := web.Client().Get(url + "/effects")
					require.NoError(t, err)
					did, err := io.ReadAll(res.Body)
					require.NoError(t, err)
					require.NoError(t, res.Body.Close())
					require.Equal(t, effects, string(did))
				})
			}
		}
	}
	require.Equal(t, len(styleNames)*2*2-2, cells)
	t.Logf("%d cells", cells)
}

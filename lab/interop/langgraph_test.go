package interop_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options/replay"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/sqlitestore"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

var langgraph = peer{name: "langgraph", module: "@langchain/langgraph", version: "1.7.3"}

// Agents that play the whole call again from its first request for each answer, at two instances in
// turn: how often each effect happened, "drafts/holds/charges", and how many bookings the agent has.
func TestLangGraphPlaysACallAgain(t *testing.T) {
	requirePeers(t, langgraph)
	for program, want := range map[string]struct {
		did      []string
		receipts int
	}{
		"once":     {[]string{"1/1/1"}, 1},
		"again":    {[]string{"2/2/2"}, 2},
		"parallel": {[]string{"2/2/2", "3/2/2", "2/3/2", "3/3/2"}, 2},
		// Each resume of the corrected path splits a call off, of which the last one charges.
		"corrected": {[]string{"3/3/1"}, 1},
		"crash":     {[]string{"1/1/1"}, 1},
	} {
		for _, style := range []string{"native", "journal", "resumable", "steps"} {
			t.Run(program+"/"+style, func(t *testing.T) {
				records := fleet.Must(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "rounds.db"), nil))(t)
				t.Cleanup(func() { require.NoError(t, records.Close()) })
				inn := replay.New(t, style, []store.Store{records, records}, func(o *mrtr.Options) { o.Principal = nil }) // the token's
				output, err := exec.Command(nodeProgram(), filepath.Join("peers", langgraph.name, "driver.mjs"), program, inTurn(t, inn)).Output()
				require.NoError(t, err, "%s", stderrOf(err))
				var receipts []string
				require.NoError(t, json.Unmarshal(output, &receipts))
				require.Len(t, receipts, want.receipts)
				require.NotEqual(t, receipts[0], append(receipts, "")[1])
				require.Contains(t, want.did, inn.Did())
			})
		}
	}
}

// inTurn serves the instances of an inn at one URL, to whoever a token names.
func inTurn(t *testing.T, inn *replay.Inn) (url string) {
	var fronts []http.Handler
	for _, handler := range inn.Instances {
		server := mcp.NewServer(&mcp.Implementation{Name: "inn", Version: "1"}, nil)
		mrtr.AddTool(server, &mcp.Tool{Name: "stay"}, handler)
		fronts = append(fronts, fleet.Must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t))
	}
	var requests atomic.Int64
	named := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token}, nil
	}
	web := httptest.NewServer(auth.RequireBearerToken(named, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fronts[int(requests.Add(1))%len(fronts)].ServeHTTP(w, r)
		})))
	t.Cleanup(web.Close)
	return web.URL
}

func stderrOf(err error) []byte {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.Stderr
	}
	return nil
}

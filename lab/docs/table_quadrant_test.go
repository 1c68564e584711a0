package docs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// quadrantTable shows who is asked for the units, which have a default, and for the place,
// which has none.
func quadrantTable(t *testing.T) string {
	table := "  units / place     server holds a stream     server holds no stream\n"
	for _, version := range []string{wire.Modern, wire.Legacy} {
		era := map[string]string{wire.Modern: "modern", wire.Legacy: "legacy"}[version]
		table += fmt.Sprintf("  %s client     %-26s%s\n", era, corner(t, version, false), corner(t, version, true))
	}
	return table
}

// corner is what a client of this revision gets, over HTTP with sessions and without.
func corner(t *testing.T, version string, stateless bool) string {
	rt, err := mrtr.New(&mrtr.Options{Unaskable: mrtr.UnaskableLegacyDefaults})
	require.NoError(t, err)
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, options.Steps(rt, &options.Card{}))
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{Stateless: stateless})
	require.NoError(t, err)
	web := httptest.NewServer(handler)
	defer web.Close()
	client, err := wire.DialHTTP(t.Context(), web.URL, web.Client(), &wire.Options{Version: version})
	require.NoError(t, err)
	defer client.Close()
	var got []string
	for _, c := range []struct{ question, location string }{{"units", "Lisbon"}, {"place", "Springfield"}} {
		out, err := client.Call(t.Context(), "weather", map[string]string{"location": c.location}, wire.Answers{
			"place": wire.Value("Springfield, Illinois"), "units": wire.Value("metric"),
		})
		require.NoError(t, err)
		require.Nil(t, out.Error)
		asked := slices.ContainsFunc(out.Questions, func(q wire.Question) bool { return q.Key == c.question })
		got = append(got, map[[2]bool]string{{true, false}: "asked", {false, false}: "default", {false, true}: "refused"}[[2]bool{asked, out.IsError}])
	}
	return strings.Join(got, " / ")
}

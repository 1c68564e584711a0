package sdk_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/probe"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// A fault inside a boundary is one ERROR record, which the boundary writes, in
// whichever style and place it happens.
func TestAFaultIsOneErrorRecord(t *testing.T) {
	rows := 0
	for _, place := range boundedPlaces {
		for _, era := range []probe.Era{probe.Modern, probe.Legacy} {
			rows++
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, nil))
			rt, err := mrtr.New(onForcedStore(&mrtr.Options{Observer: mrtr.LogObserver(logger)}))
			require.NoError(t, err)
			server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "t"}, mrtr.Tool(rt, place.style(func() { panic("boom") }), nil))
			require.NoError(t, boundary.Install(server, &boundary.Options{Logger: logger}))
			out, err := boundedClient(t, server, era).Call(t.Context(), "t", nil, wire.Answers{"units": wire.Value("metric")})
			require.NoError(t, err)
			require.True(t, out.IsError)
			require.NoError(t, rt.Close())
			require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), "%s, %s:\n%s", place.name, era, log.String())
			where := 0
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "boundary_observer_test.go") {
					where++
				}
			}
			require.Equal(t, 1, where, "%s, %s: the record that says where", place.name, era)
		}
	}
	require.Positive(t, rows)
}

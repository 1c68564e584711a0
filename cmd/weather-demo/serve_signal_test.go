//go:build !windows

package main

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
)

// Windows sends no SIGINT or SIGTERM to another process.
func TestServeStopsInTheMiddleOfACall(t *testing.T) {
	for _, signal := range signals {
		for _, e := range []era{modern, legacy} {
			s := serveHTTPOnAnyPort(t, nil, "-drain", "200ms")
			inTheMiddle, release := make(chan bool), make(chan bool)
			letGo := sync.OnceFunc(func() { close(release) })
			session := dialThoughtful(t, s, e, inTheMiddle, release)
			called := make(chan error, 1)
			go func() {
				_, err := session.CallTool(within(t), call("weather_coroutine", "Lisbon"))
				called <- err
			}()
			t.Cleanup(letGo)
			<-inTheMiddle // the user is thinking: a stream is open, or a handler is held
			s.stops(signal)
			cancelled := strings.Contains(s.log.String(), "running after 200ms were cancelled")
			require.Equal(t, e == legacy, cancelled, "only a legacy call runs while its user thinks")
			letGo()
			<-called // with either outcome
		}
	}
}

// dialThoughtful connects a client whose user does not answer before release.
func dialThoughtful(t *testing.T, s *serving, e era, asked, release chan bool) *mcp.ClientSession {
	client := mcp.NewClient(weather.Implementation, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(asked)
			<-release
			return &mcp.ElicitResult{Action: "cancel"}, nil
		},
	})
	version := wire.Modern
	if e == legacy {
		version = wire.Legacy
	}
	session, err := client.Connect(within(t), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() }) // the server is stopped
	return session
}

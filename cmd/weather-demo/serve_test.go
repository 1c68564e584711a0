package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

var signals = []os.Signal{syscall.SIGINT, syscall.SIGTERM}

func call(tool, location string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"location": location}}
}

func TestServeHTTPServesBothErasOnOneAddress(t *testing.T) {
	for i, e := range []era{modern, legacy} {
		s := serveHTTPOnAnyPort(t, nil)
		asked := 0
		session, err := weather.Dial(within(t), s.url+"/mcp", e, func(string) { asked++ })
		require.NoError(t, err)
		res, err := session.CallTool(within(t), call("weather_steps", "Springfield"))
		require.NoError(t, err)
		require.Equal(t, "Weather in Springfield, Illinois: 18°C, clear.", res.Content[0].(*mcp.TextContent).Text)
		require.Equal(t, 2, asked)
		require.NoError(t, session.Close())
		s.stops(signals[i])
	}
}

// With a store a retry that is sent again gets its result, and writes no audit line.
func TestServeRemembersRounds(t *testing.T) {
	for _, c := range []struct {
		args   []string
		audits int
	}{{nil, 2}, {[]string{"-store", "memory"}, 1}} {
		s := serveHTTPOnAnyPort(t, nil, c.args...)
		client := s.client(nil)
		request := wire.Request{Name: "weather_native", Arguments: map[string]any{"location": "Lisbon"}}
		asked, err := client.Send(within(t), request)
		require.NoError(t, err)
		request.State = asked.State
		request.Responses = map[string]any{"units": wire.Value("metric")(asked.Asks[0])}
		for range 2 {
			reply, err := client.Send(within(t), request)
			require.NoError(t, err)
			require.Equal(t, "Weather in Lisbon: 22°C, partly cloudy.", reply.Text)
		}
		s.stops(syscall.SIGTERM)
		require.Contains(t, s.log.String(), fmt.Sprintf("audit line %d written", c.audits))
		require.NotContains(t, s.log.String(), fmt.Sprintf("audit line %d written", c.audits+1))
	}
}

func TestServeHTTPServesWebSockets(t *testing.T) {
	s := serveHTTPOnAnyPort(t, nil)
	for _, e := range []era{modern, legacy} {
		client := dialSocket(t, s, e.Client())
		out, err := client.Call(within(t), "weather_journal", map[string]string{"location": "Lisbon"}, firstChoices)
		require.NoError(t, err)
		require.Equal(t, "Weather in Lisbon: 22°C, partly cloudy.", out.Text)
		require.NoError(t, client.Close())
	}
	s.stops(syscall.SIGTERM)
}

func dialSocket(t *testing.T, s *serving, opts *wire.Options) *wire.Client {
	t.Helper()
	transport, err := wstransport.Dial(within(t), "ws"+strings.TrimPrefix(s.url, "http")+"/ws", nil)
	require.NoError(t, err)
	client, err := wire.Dial(within(t), transport, opts)
	require.NoError(t, err)
	return client
}

// With -tasks a call becomes a task for the clients that take tasks, and no others.
func TestServeTasks(t *testing.T) {
	s := serveHTTPOnAnyPort(t, nil, "-tasks")
	piped := startServing(t, nil, "-tasks")
	dials := map[string]func(*wire.Options) *wire.Client{
		"HTTP": s.client, "stdio": piped.client, "WebSocket": func(o *wire.Options) *wire.Client { return dialSocket(t, s, o) },
	}
	for name, dial := range dials {
		for _, takes := range []bool{true, false} {
			if name == "stdio" && !takes {
				continue // its one connection has served a client
			}
			client := dial(&wire.Options{TakesTasks: takes})
			out, err := client.Call(within(t), "weather_journal", map[string]string{"location": "Springfield"}, firstChoices)
			require.NoError(t, err)
			require.Equal(t, "Weather in Springfield, Illinois: 18°C, clear.", out.Text, name)
			updates := 0
			if takes {
				updates = 2
			}
			require.Equal(t, updates, client.Requests("tasks/update"), "%s, takes tasks: %t", name, takes)
			if name != "stdio" {
				require.NoError(t, client.Close())
			}
		}
	}
	piped.hangUp()
	s.stops(syscall.SIGTERM)
	require.Contains(t, s.log.String(), "audit line 4 written")
	require.NotContains(t, s.log.String(), "audit line 5 written")
}

func TestServeWarnsOfAKeyOfItsOwn(t *testing.T) {
	s := serveHTTPOnAnyPort(t, nil)
	s.logs("warning: MRTR_KEYS is not set")
	s.stops(syscall.SIGTERM)

	s = serveHTTPOnAnyPort(t, []string{keysVariable + "=" + statecodec.GenerateKey().Text()})
	s.stops(syscall.SIGTERM)
	require.Empty(t, s.log.String())
}

func TestServersWithOneKeyShareACall(t *testing.T) {
	key := keysVariable + "=" + statecodec.GenerateKey().Text()
	request := wire.Request{Name: "weather_journal", Arguments: map[string]string{"location": "Lisbon"}}
	var reply *wire.Reply
	for _, keys := range []string{key, key, keysVariable + "=" + statecodec.GenerateKey().Text()} {
		s := startServing(t, []string{keys})
		client := s.client(nil)
		var err error
		reply, err = client.Send(within(t), request)
		require.NoError(t, err)
		if reply.Incomplete() {
			request.State, request.Responses = reply.State, map[string]any{"units": wire.Value("metric")(reply.Asks[0])}
		} else if keys == key {
			require.Equal(t, "Weather in Lisbon: 22°C, partly cloudy.", reply.Text)
		}
		s.hangUp()
	}
	require.NotNil(t, reply.Error, "another key")
	require.Equal(t, statecodec.Refusal, reply.Error.Message)
}

func TestServeRefusesWhatCannotWork(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	got := weatherDemo(t, "", "serve", "-http", taken.Addr().String())
	require.Equal(t, statusFailed, got.status)
	require.Contains(t, got.stderr, "listen tcp "+taken.Addr().String())
	require.Empty(t, got.stdout)

	s := startServing(t, []string{keysVariable + "=secret"})
	require.Error(t, s.cmd.Wait())
	require.Contains(t, s.log.String(), keysVariable)
	require.NotContains(t, s.log.String(), "secret")
}

func TestServeOffersTheLandmineOnlyWhenAsked(t *testing.T) {
	for _, flags := range [][]string{nil, {"-landmine"}} {
		s := serveHTTPOnAnyPort(t, nil, flags...)
		session, err := weather.Dial(within(t), s.url+"/mcp", modern, func(string) {})
		require.NoError(t, err)
		tools, err := session.ListTools(within(t), nil)
		require.NoError(t, err)
		offered := map[string]bool{}
		for _, tool := range tools.Tools {
			offered[tool.Name] = true
		}
		for _, o := range weather.Styles() {
			landmine := o.Letter == "B" || o.Letter == "N"
			require.Equal(t, !landmine || flags != nil, offered[o.Tool()], o.Tool())
		}
		require.NoError(t, session.Close())
		s.stops(syscall.SIGTERM)
	}
}

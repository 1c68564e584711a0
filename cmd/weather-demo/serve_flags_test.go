package main

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
)

func TestServeDeniesTiers(t *testing.T) {
	cases := []struct {
		flags   []string
		offered map[string]bool
	}{
		{nil, map[string]bool{"resolve_work_item": true, "places": true}},
		{[]string{"-read-only"}, map[string]bool{"resolve_work_item": false, "places": true}},
		{[]string{"-deny", "write"}, map[string]bool{"resolve_work_item": false, "places": true}},
		{[]string{"-deny", "read-only", "-deny", "destructive"}, map[string]bool{"resolve_work_item": true, "places": false}},
	}
	for _, c := range cases {
		s := startServing(t, nil, append([]string{"-stdio"}, c.flags...)...)
		client := s.client(nil)
		listed, err := client.Send(within(t), wire.Request{Method: "tools/list"})
		require.NoError(t, err)
		var list struct{ Tools []struct{ Name string } }
		require.NoError(t, json.Unmarshal(listed.Result, &list))
		names := map[string]bool{}
		for _, tool := range list.Tools {
			names[tool.Name] = true
		}
		for tool, offered := range c.offered {
			require.Equal(t, offered, names[tool], "%s with %v", tool, c.flags)
			reply, err := client.Send(within(t), wire.Request{Name: tool, Arguments: map[string]any{}})
			require.NoError(t, err)
			require.Equal(t, !offered, strings.Contains(reply.Text, "does not offer"), "%s with %v: %s", tool, c.flags, reply.Text)
		}
		s.hangUp()
		require.Equal(t, len(c.flags) > 0, strings.Contains(s.log.String(), "type=denied"), "a denial is logged")
	}
}

func TestServeTracesTheMessages(t *testing.T) {
	for _, e := range []era{modern, legacy} {
		s := startServing(t, nil, "-stdio", "-trace")
		client := s.client(e.Client())
		out, err := client.Call(within(t), "weather_native", map[string]string{"location": "Lisbon"}, firstChoices)
		require.NoError(t, err)
		s.hangUp()
		log := s.log.String()
		wants := []string{"client ──▶ server  tools/call", `"location": "Lisbon"`, "client ◀── server  result", `"units": "metric"`, "Weather in Lisbon"}
		if e == legacy {
			wants = append(wants, "client ◀── server  elicitation/create", "client ──▶ server  result")
		} else {
			wants = append(wants, "input_required", `… 408 bytes"`)
		}
		for _, want := range wants {
			require.Contains(t, log, want, "%s", e)
		}
		for _, token := range out.States {
			require.NotContains(t, log, token, "a whole state")
		}
	}
}

func TestServeSaysWhereAndHow(t *testing.T) {
	s := startServing(t, nil, "-http", "127.0.0.1:0")
	banner := ""
	in := bufio.NewReader(s.stdout)
	for range 5 {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		banner += line
	}
	for _, want := range []string{"/mcp  ", `over WebSocket, subprotocol "mcp"`, "/audits  ", "a page"} {
		require.Contains(t, banner, want)
	}
	s.stops(signals[0])
}

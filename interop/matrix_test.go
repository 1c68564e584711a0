package interop_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMatrix has every released client call every style: in each era and over
// each transport that it speaks, answering and declining, with the traffic
// counted on the wire. It prints the table.
func TestMatrix(t *testing.T) {
	requirePeers(t)
	program := buildServer(t, "./cmd/weather-demo")
	url := serveHTTP(t, program)
	drivers := buildDrivers(t)
	var results table

	t.Run("peers", func(t *testing.T) {
		for _, g := range groups() {
			t.Run(g.client+"/"+g.era+"/"+g.transport, func(t *testing.T) {
				t.Parallel()
				client := connect(t, drivers[g.client], g, program, url)
				for _, style := range styles {
					for _, s := range scenarios {
						want, mark := expected(s, style, g.era), s.mark
						asked := s.cell
						asked.Tool = "weather_" + style
						got, seen := client.call(t, asked)
						if !assert.Equal(t, want, observed(got, seen), "%s, %s", style, s.name) {
							mark = "X"
						}
						results.add(g, style, mark)
					}
				}
				client.close(t)
			})
		}
	})

	t.Logf("%s", &results)
	const typescriptV2, typescriptV1, inspector, mcpGo = 3 * 2, 3, 3 * 2, 3 * 2
	require.Equal(t, (typescriptV2+typescriptV1+inspector+mcpGo)*8*4, results.cells, "cells of the matrix")
}

// TestBareSDK is the matrix's contrast: a two-question tool on go-sdk alone.
// Modern clients complete it; to every legacy one the second question comes as
// an empty success.
func TestBareSDK(t *testing.T) {
	requirePeers(t)
	program := buildServer(t, "./interop/bare")
	drivers := buildDrivers(t)
	clients := 0
	for _, g := range groups() {
		if g.transport != "stdio" {
			continue
		}
		clients++
		t.Run(g.client+"/"+g.era, func(t *testing.T) {
			client := connect(t, drivers[g.client], g, program, "")
			got, seen := client.call(t, cell{Tool: "weather_bare", Location: "Springfield", Answers: illinois})
			want := outcome{
				Text:      "Weather in Springfield, Illinois, imperial.",
				Questions: []elicitation{place, units},
				Traffic:   traffic{Calls: 3, ModernCalls: 3, InputRequired: 2},
			}
			if g.era == "legacy" {
				want = outcome{
					Questions: []elicitation{place},
					Traffic:   traffic{Calls: 1, Elicitations: 1, Leaked: 1},
				}
			}
			require.Equal(t, want, observed(got, seen))
			client.close(t)
		})
	}
	require.Equal(t, 3+1+3+3, clients)
}

// connection is a client with a tap between it and the server.
type connection struct {
	*driver
	counter *counter
	stdio   *stdioTap
}

func connect(t *testing.T, client []string, g group, program, url string) *connection {
	t.Helper()
	c := &connection{counter: &counter{}}
	argv := append(client[:len(client):len(client)], "--era", g.era)
	switch g.transport {
	case "http":
		argv = append(argv, "--url", tapHTTP(t, c.counter, url)+"/mcp")
	case "ws":
		argv = append(argv, "--url", tapWebSocket(t, c.counter, strings.Replace(url, "http", "ws", 1))+"/ws")
	case "stdio":
		c.stdio = newStdioTap(t, program, "serve", "-stdio")
		argv = append(append(argv, "--stdio"), c.stdio.argv...)
	}
	c.driver = startDriver(t, argv)
	return c
}

// call makes one call and returns what passed on the wire meanwhile.
func (c *connection) call(t *testing.T, asked cell) (reply, traffic) {
	t.Helper()
	got := c.driver.call(t, asked)
	if c.stdio != nil {
		c.stdio.drain(t, c.counter)
	}
	return got, c.counter.take()
}

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

const quadrantAbout = `Calls the same tools over HTTP as a modern and as a legacy client, on a server
that holds a stream to its clients and on one that does not.`

const quadrantIntro = `Whether a client can be asked depends on its revision of the protocol and on
whether the server holds a stream to it. The tools below are served over HTTP
with the policy "ask over the stream, else use the questions' defaults"
(mrtr.UnaskableLegacyDefaults). "units" has a default, "place" has none. Every
client sees all tools, and can use those that ask nothing.

`

const quadrantHead = "  units / place     server holds a stream     server holds no stream"

// quadrant calls the same tools over HTTP as both eras of clients, on a server
// that holds a stream and on one that does not.
func quadrant(ctx context.Context, p printer) error {
	fmt.Fprint(p, quadrantIntro)
	played := map[combination][]outcomeLine{}
	for _, c := range combinations {
		lines, err := c.play(ctx)
		if err != nil {
			return err
		}
		played[c] = lines
	}
	fmt.Fprintln(p, p.dim(quadrantHead))
	for _, e := range []era{modern, legacy} {
		fmt.Fprintf(p, "  %s client     %-26s%s\n", e, corner(played[combination{era: e}]), corner(played[combination{true, e}]))
	}
	for _, c := range combinations {
		fmt.Fprintf(p, "\n%s\n", p.bold(c.title()))
		for _, line := range played[c] {
			p.hang(fmt.Sprintf("  %-28s", line.call), line.outcome, plain)
		}
	}
	return nil
}

// corner sums up the outcomes of the two questions of weather_steps.
func corner(lines []outcomeLine) string {
	var each []string
	for _, line := range lines {
		if strings.HasPrefix(line.call, "weather_steps ") {
			kind, _, _ := strings.Cut(line.outcome, ":")
			each = append(each, strings.Fields(strings.Replace(kind, "not asked", "default", 1))[0])
		}
	}
	return strings.Join(each, " / ")
}

var combinations = []combination{{false, modern}, {false, legacy}, {true, modern}, {true, legacy}}

// combination is one kind of client with one kind of server.
type combination struct {
	stateless bool
	era       era
}

type outcomeLine struct{ call, outcome string }

func (c combination) title() string {
	server := "a server that holds a stream"
	if c.stateless {
		server = "a server that holds no stream"
	}
	return fmt.Sprintf("A %s client, %s", c.era, server)
}

func (c combination) play(ctx context.Context) (lines []outcomeLine, err error) {
	asked := 0
	front := weather.Front{
		Stream: !c.stateless, Era: c.era, Asked: func(string) { asked++ },
		Server: func(rt *mrtr.Runtime) *mcp.Server { return newServer(rt, &options.Audit{}, false) },
	}
	err = front.Play(ctx, func(session *mcp.ClientSession) error {
		tools, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		lines = append(lines, outcomeLine{"tools/list", count(len(tools.Tools), "tool")})
		for _, call := range []struct{ tool, location string }{
			{"places", ""},
			{"weather_steps", "Lisbon"}, {"weather_steps", "Springfield"},
			{"weather_two_handlers", "Lisbon"},
		} {
			arguments := map[string]any{}
			if call.location != "" {
				arguments["location"] = call.location
			}
			asked = 0
			res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call.tool, Arguments: arguments})
			if err != nil {
				return fmt.Errorf("%s: %w", call.tool, err)
			}
			lines = append(lines, outcomeLine{call.tool + " " + call.location, verdict(res, asked)})
		}
		return nil
	})
	return lines, err
}

func verdict(res *mcp.CallToolResult, asked int) string {
	text := ""
	if len(res.Content) > 0 {
		if c, ok := res.Content[0].(*mcp.TextContent); ok {
			text = strings.TrimPrefix(c.Text, "Weather in ")
		}
	}
	switch {
	case res.IsError:
		return "refused: " + text
	case asked > 0:
		return fmt.Sprintf("asked %s: %s", times(asked), text)
	}
	return "not asked: " + shorten(text, 38)
}

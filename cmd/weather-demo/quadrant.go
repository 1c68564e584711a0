package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

const quadrantAbout = `Calls the same tools over HTTP as a modern and as a legacy client, on a server
that holds a stream to its clients and on one that does not.`

const quadrantIntro = `Whether a client can be asked depends on its revision of the protocol and on
whether the server holds a stream to it. The tools below are served over HTTP
with the policy "ask over the stream, else use the questions' defaults"
(mrtr.LegacyBridgeOrDefaults). "units" has a default, "place" has none. Every
client sees all tools, and can use those that ask nothing.

`

const quadrantHead = "  units / place     server holds a stream     server holds no stream"

// quadrant calls the same tools over HTTP as both eras of clients, on a server
// that holds a stream and on one that does not.
func quadrant(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("quadrant", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	w, p := t.out, painterFor(t.out)
	fmt.Fprint(w, quadrantIntro)
	played := map[combination][]outcomeLine{}
	for _, c := range combinations {
		lines, err := c.play(ctx)
		if err != nil {
			return err
		}
		played[c] = lines
	}
	fmt.Fprintln(w, p.dim(quadrantHead))
	for _, e := range []era{modern, legacy} {
		fmt.Fprintf(w, "  %s client     %-26s%s\n", e, corner(played[combination{era: e}]), corner(played[combination{true, e}]))
	}
	for _, c := range combinations {
		fmt.Fprintf(w, "\n%s\n", p.bold(c.title()))
		for _, line := range played[c] {
			call := fmt.Sprintf("%-28s", line.call)
			for _, text := range wrap(line.outcome, lineWidth-len(call)-2) {
				fmt.Fprintf(w, "  %s%s\n", call, text)
				call = strings.Repeat(" ", len(call))
			}
		}
	}
	return nil
}

// corner says what became of the two questions of weather_steps.
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

func (c combination) play(ctx context.Context) ([]outcomeLine, error) {
	rt, err := mrtr.New(&mrtr.Options{Legacy: mrtr.LegacyBridgeOrDefaults})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	server := newServer(rt, &options.Audit{}, false)
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{Stateless: c.stateless})
	if err != nil {
		return nil, err
	}
	web := httptest.NewServer(handler)
	defer web.Close()
	defer handler.Shutdown(ctx)

	asked := 0
	session, err := dialHTTP(ctx, web.URL, c.era, &asked)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	lines := []outcomeLine{{"tools/list", count(len(tools.Tools), "tool")}}
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
			return nil, fmt.Errorf("%s: %w", call.tool, err)
		}
		lines = append(lines, outcomeLine{call.tool + " " + call.location, verdict(res, asked)})
	}
	return lines, nil
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

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// dialHTTP connects with go-sdk's client. As a legacy client it must not answer
// an input_required result, which it does by default in either era.
func dialHTTP(ctx context.Context, url string, e era, asked *int) (*mcp.ClientSession, error) {
	opts := &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			*asked++
			content := map[string]any{"units": "metric"}
			if req.Params.Message == "Which Springfield?" {
				content = map[string]any{"place": "Springfield, Illinois"}
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	}
	version := wire.Modern
	if e == legacy {
		version = wire.Legacy
		opts.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	}
	client := mcp.NewClient(implementation, opts)
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/sse"
)

// quadrant calls the same tools over HTTP with a server that holds a stream
// and one that does not, as a modern client and as one from before.
func quadrant(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("quadrant", flag.ContinueOnError)
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	w, p := t.out, painterFor(t.out)
	fmt.Fprint(w, quadrantIntro)
	for _, stateless := range []bool{false, true} {
		for _, e := range []era{modern, legacy} {
			c, err := playCorner(ctx, stateless, e)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s\n", p.bold(c.title()))
			for _, line := range c.lines {
				fmt.Fprintf(w, "  %-24s %s\n", line.what, line.got)
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

const quadrantIntro = `Whether a client can be asked hangs on two things: its revision, and whether
the server holds a stream to it. Over HTTP, tools registered with the policy
"ask over the session, else use defaults" (weather_native never asks an old
client):

`

// corner is what one kind of client gets from one kind of server.
type corner struct {
	stateless bool
	era       era
	lines     []cornerLine
}

type cornerLine struct{ what, got string }

func (c corner) title() string {
	server := "a server that holds a stream"
	if c.stateless {
		server = "a server that holds none"
	}
	client := "a modern client"
	if c.era == legacy {
		client = "a client from before 2026-07-28"
	}
	return client + ", " + server
}

func playCorner(ctx context.Context, stateless bool, e era) (*corner, error) {
	rt, err := mrtr.New(&mrtr.Options{Legacy: mrtr.LegacyBridgeOrDefaults})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	server := newServer(rt, &options.Audit{}, false)
	handler, err := sse.NewHandler(func(*http.Request) *mcp.Server { return server }, &sse.HandlerOptions{Stateless: stateless})
	if err != nil {
		return nil, err
	}
	web := httptest.NewServer(handler)
	defer web.Close()
	defer handler.Shutdown(ctx)

	asked := 0
	session, err := dialHTTP(ctx, web.URL, e, &asked)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	c := &corner{stateless: stateless, era: e}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	c.lines = append(c.lines, cornerLine{"tools/list", count(len(tools.Tools), "tool")})
	for _, call := range []struct{ tool, location string }{
		{"places", ""},
		{"weather_steps", "Lisbon"}, {"weather_steps", "Springfield"},
		{"weather_two_handlers", "Lisbon"},
		{"weather_native", "Lisbon"}, {"weather_native", "Springfield"},
	} {
		params := &mcp.CallToolParams{Name: call.tool, Arguments: map[string]any{}}
		if call.location != "" {
			params.Arguments = map[string]any{"location": call.location}
		}
		asked = 0
		res, err := session.CallTool(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", call.tool, err)
		}
		c.lines = append(c.lines, cornerLine{
			what: shorten(call.tool+" "+call.location, 34),
			got:  verdict(res, asked),
		})
	}
	return c, nil
}

func verdict(res *mcp.CallToolResult, asked int) string {
	text := ""
	if len(res.Content) > 0 {
		if c, ok := res.Content[0].(*mcp.TextContent); ok {
			text = shorten(c.Text, 60)
		}
	}
	switch {
	case res.IsError:
		return "refused: " + text
	case asked > 0:
		return fmt.Sprintf("asked %s: %s", count(asked, "time"), text)
	}
	return "not asked: " + text
}

// dialHTTP connects with go-sdk's client. For old clients its habit of
// retrying what only modern ones may is switched off.
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

package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
)

// listed are the tools that a client is shown, page by page.
func listed(t testing.TB, client *wire.Client, pages int) (names []string) {
	t.Helper()
	cursor := ""
	for range pages {
		params := map[string]any{"cursor": cursor}
		if meta := client.Meta(); meta != nil {
			params["_meta"] = meta
		}
		if cursor == "" {
			delete(params, "cursor")
		}
		reply := kit.Send(t, client, wire.Request{Method: "tools/list", Params: params})
		require.Nil(t, reply.Error)
		var list struct {
			Tools                  []struct{ Name string }
			NextCursor, CacheScope string
		}
		require.NoError(t, json.Unmarshal(reply.Result, &list))
		require.Contains(t, string(reply.Result), `"tools":[`)
		require.NotEqual(t, "public", list.CacheScope, "nobody may show it to another client")
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		cursor = list.NextCursor
	}
	require.Empty(t, cursor)
	return names
}

// keepingLists is middleware that gives everybody the list that it made first.
func keepingLists() mcp.Middleware {
	kept := map[string]mcp.Result{}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			list, ok := req.(*mcp.ListToolsRequest)
			if !ok || list.Params == nil {
				return next(ctx, method, req)
			}
			if kept[list.Params.Cursor] == nil {
				res, err := next(ctx, method, req)
				if err != nil {
					return nil, err
				}
				kept[list.Params.Cursor] = res
			}
			return kept[list.Params.Cursor], nil
		}
	}
}

func TestToolsThatCannotBeUsedAreNotOffered(t *testing.T) {
	rt, seen := kit.NewRuntime(t, &mrtr.Options{Narrow: byName})
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{PageSize: 1})
	add := func(name string, style mrtr.Style[kit.Input, kit.Output], opts *mrtr.HandlerOptions) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, style, opts))
	}
	native := mrtr.Native(kit.Asking(kit.Units, kit.Itself))
	always := []mrtr.AnyQuestion{kit.Units}
	add("a.needs", native, &mrtr.HandlerOptions{Name: "a.needs", Needs: always})
	add("b.may.ask", native, &mrtr.HandlerOptions{Name: "b.may.ask"})
	add("c.has.default", native, &mrtr.HandlerOptions{Name: "c.has.default", Unaskable: mrtr.UnaskableDefaults, Needs: []mrtr.AnyQuestion{kit.Units.Default("metric")}})
	add("d.nameless", native, &mrtr.HandlerOptions{Needs: always})
	add("e.steps", chargingSteps(func() {}), &mrtr.HandlerOptions{Name: "e.steps"})
	add("f.twice", native, &mrtr.HandlerOptions{Name: "f.twice", Audience: "own"})
	mrtr.Tool(rt, native, &mrtr.HandlerOptions{Name: "f.twice", Needs: always, Audience: "other"})
	all := []string{"a.needs", "b.may.ask", "c.has.default", "d.nameless", "e.steps", "f.twice"}
	usable := []string{"b.may.ask", "c.has.default", "d.nameless", "f.twice"}
	server.AddReceivingMiddleware(keepingLists())
	rt.HideUnaskable(server)

	for _, c := range []struct {
		explanation string
		client      *wire.Options
		want        []string
		reason      string
	}{
		{"a modern client of forms", nil, all, ""},
		{"one that declares nothing", &wire.Options{Capabilities: wire.Nothing}, usable, needsForm},
		{"a legacy client of forms", kit.Legacy, all, ""},
		{"one that declares nothing", kit.LegacyMute, usable, noForm},
		{"one that was negotiated down", kit.NegotiatedDown, usable, noStream},
		{"one that is known to show no forms", &wire.Options{Name: "shows no forms"}, usable, needsForm},
		{"the first again", nil, all, ""},
	} {
		t.Run(fmt.Sprintf("%s/%v", c.explanation, c.client), func(t *testing.T) {
			before := len(seen.Of(observe.ToolHidden))
			client := kit.Connect(t, server, c.client)
			require.Equal(t, c.want, listed(t, client, len(all)))
			hidden := seen.Of(observe.ToolHidden)[before:]
			require.Len(t, hidden, len(all)-len(c.want))
			for i, e := range hidden {
				require.Equal(t, []string{"a.needs", "e.steps"}[i], e.Name)
				require.Contains(t, e.Reason, c.reason)
				require.NotEmpty(t, e.Client)
			}
			if c.reason == needsForm { // it is there, and refuses as it does without a list
				kit.RefusedWith(t, kit.Send(t, client, wire.Request{Name: "a.needs"}).Error, -32021)
			}
		})
	}
	prompt := mrtr.Native(func(context.Context, *mrtr.Call, map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		return nil, nil, nil
	})
	require.NotPanics(t, func() { mrtr.Prompt(rt, prompt, nil) })
	require.Panics(t, func() { mrtr.Prompt(rt, prompt, &mrtr.HandlerOptions{Name: "x"}) })
}

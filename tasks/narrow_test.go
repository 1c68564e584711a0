package tasks_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/store"
)

func byName(who mcp.Implementation, client era.Client) era.Client {
	client.Form = client.Form && who.Name != "no forms"
	return client
}

// The questions of a task are those of the client as the hook narrows it, in each of its
// rounds, and a client that cannot be asked gets no task.
func TestATaskGoesByTheNarrowedClient(t *testing.T) {
	for _, style := range styleNames {
		for _, stored := range []bool{false, true} {
			s := setting{style: style, policy: atOnce, narrow: byName, needs: []mrtr.AnyQuestion{seat}}
			if stored {
				s.records = store.NewMemory(nil)
			}
			here := newSite(t, s)
			o := &wire.Options{Name: "forms", Capabilities: wire.FormOnly, TakesTasks: true}
			c := dial(t, here, "HTTP", o)
			out, err := c.Call(context.Background(), "book", trip{"Lisbon"}, wire.Answers{"seat": wire.Value("window"), "meal": wire.Value("fish")})
			require.NoError(t, err)
			require.Positive(t, c.Requests("tasks/update"), style)
			require.JSONEq(t, `{"plan":"to Lisbon: window, fish"}`, string(out.Structured), style)
			require.Len(t, out.Questions, 2)
			require.Equal(t, "hold ticket", here.did.take())

			o = &wire.Options{Name: "no forms", Capabilities: wire.FormOnly, TakesTasks: true}
			out, err = dial(t, here, "HTTP", o).Call(context.Background(), "book", trip{"Lisbon"}, nil)
			require.NoError(t, err)
			require.NotNil(t, out.Error, style)
			require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, out.Error.Code)
			require.Empty(t, here.did.all())
		}
	}
}

// Over no transport does one client see the list of another. A tool that is hidden, and
// called, is refused as ever, through a boundary too.
func TestAListIsForItsClientAlone(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			here := newSite(t, setting{style: "native", narrow: byName, needs: []mrtr.AnyQuestion{seat}, boundary: after})
			here.rt.HideUnaskable(here.server)
			for range 2 {
				for name, want := range map[string]int{"forms": 1, "no forms": 0} {
					c := dial(t, here, transport, &wire.Options{Name: name, Capabilities: wire.FormOnly})
					reply, err := c.Send(context.Background(), wire.Request{Method: "tools/list", Params: map[string]any{"_meta": c.Meta()}})
					require.NoError(t, err)
					require.Nil(t, reply.Error)
					var list struct{ Tools []json.RawMessage }
					require.NoError(t, json.Unmarshal(reply.Result, &list))
					require.Len(t, list.Tools, want, name)
					if want == 0 {
						reply, err = c.Send(context.Background(), wire.Request{Name: "book", Arguments: trip{"Lisbon"}})
						require.NoError(t, err)
						require.NotNil(t, reply.Error)
						require.EqualValues(t, mcp.CodeMissingRequiredClientCapabilities, reply.Error.Code)
					}
				}
			}
		})
	}
	require.NotEmpty(t, transports)
}

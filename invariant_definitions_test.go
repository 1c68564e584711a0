package sdk_test

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// In tools/list, too, nothing but the name and the description, which are for
// people, tells one style from another: to clients of either era, and to one
// that can be asked nothing.
func TestInvariantOfTheDefinitions(t *testing.T) {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	for _, o := range options.All {
		mcp.AddTool(server, &mcp.Tool{Name: o.Tool(), Description: o.Lesson}, o.New(rt, &options.Audit{}))
	}
	var first []byte
	for _, in := range []setting{{name: "modern client"}, silentModern, legacy, silentLegacy, negotiatedDown} {
		client, err := wire.Connect(t.Context(), server, in.client)
		require.NoError(t, err)
		reply, err := client.Send(t.Context(), wire.Request{Method: "tools/list"})
		require.NoError(t, err)
		require.NoError(t, client.Close())
		require.Nil(t, reply.Error, in.name)
		var list struct {
			Tools []map[string]json.RawMessage `json:"tools"`
		}
		require.NoError(t, json.Unmarshal(reply.Result, &list))
		require.Len(t, list.Tools, len(options.All), in.name)
		require.NotEmpty(t, list.Tools)
		for _, tool := range list.Tools {
			name := string(tool["name"])
			require.JSONEq(t, `{
				"type": "object",
				"properties": {"location": {"type": "string", "description": "the name of a place"}},
				"required": ["location"],
				"additionalProperties": false
			}`, string(tool["inputSchema"]), name)
			require.JSONEq(t, `{
				"type": "object",
				"properties": {
					"location": {"type": "string"}, "temperature": {"type": "integer"},
					"unit": {"type": "string"}, "conditions": {"type": "string"}
				},
				"required": ["location", "temperature", "unit", "conditions"],
				"additionalProperties": false
			}`, string(tool["outputSchema"]), name)
			delete(tool, "name")
			delete(tool, "description")
			rest, err := json.Marshal(tool)
			require.NoError(t, err)
			if first == nil {
				first = rest
			}
			require.Equal(t, string(first), string(rest), "%s, %s", name, in.name)
		}
	}
}

package mrtrtest_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
)

// A harness with a client of its own: one instance dies of its effect, and another, which
// knows the same secrets, serves the same user.
func TestADeploymentOutlivesItsInstance(t *testing.T) {
	var keys [][]byte
	home := &mrtrtest.Deployment{Name: "home", Build: func(w *mrtrtest.World) *mcp.Server {
		keys = append(keys, w.Key())
		return newDesk(w)
	}}
	book := func() (*mrtrtest.Instance, *mcp.CallToolResult, error) {
		instance, err := home.Start()
		require.NoError(t, err)
		transport, err := instance.Connect(t.Context(), "ada")
		require.NoError(t, err)
		client := mcp.NewClient(&mcp.Implementation{Name: "harness", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: takesTheWindow})
		session, err := client.Connect(t.Context(), transport, nil)
		require.NoError(t, err)
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "book", Arguments: trip{"Lisbon"}})
		return instance, result, err
	}
	over := make(chan struct{})
	home.CrashAtEffect(over)
	dead, _, err := book()
	require.Error(t, err)
	require.ErrorContains(t, dead.Died(), `the process was ended after the effect "charge"`)
	require.Equal(t, map[string]int{"charge": 1}, home.Effects())

	home.CrashAtEffect(nil)
	alive, result, err := book()
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.NoError(t, alive.Died())
	require.Equal(t, map[string]int{"charge": 2}, home.Effects())
	require.Len(t, keys, 2)
	require.Equal(t, keys[0], keys[1])

	close(over) // the dead handler returns
	require.NoError(t, dead.Stop())
	require.NoError(t, alive.Stop())
	require.NoError(t, home.Close())
}

func takesTheWindow(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": "window"}}, nil
}

package interop_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

// TestLogin has the TypeScript client find, from the URL alone, where its user logs in. It
// calls a tool that needs no more, and is sent back to the login for the scope of another,
// whose question it then answers.
func TestLogin(t *testing.T) {
	requirePeers(t, peers[0])
	server := exec.Command(buildTest(t, "../../serve"), "-test.run=^TestAClientFindsWhereToLogIn$")
	server.Env = append(os.Environ(), "SERVE_TEST_SERVE=1")
	url := fleet.ListenWhileOpen(t, server)
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			client := startDriver(t, []string{nodeProgram(), "peers/typescript-v2/login.mjs", "--era", era, "--url", url + "/mcp"})
			call := func(tool string) (r reply) {
				require.NoError(t, client.Call(map[string]any{"tool": tool, "arguments": struct{}{}, "answers": map[string]string{"seat": "window"}}, &r))
				return r
			}
			called := call("panics")
			require.True(t, called.IsError)
			require.Empty(t, called.Status, "no login")
			want := reply{Text: `{"text":"window"}`, Structured: json.RawMessage(`{"text":"window"}`), Status: "trips seats", Elicitations: []elicitation{{"Which seat?", []string{"seat"}}}}
			require.Equal(t, want, call("held"))
			want.Status = ""
			require.Equal(t, want, call("held"), "the token is kept")
			client.close(t)
		})
	}
}

package main

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// The suite checks of most results only that there is one. This test checks their
// contents, with a client of either era that answers everything.
func TestFixturesThatAsk(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			session := dial(t, version)
			for _, tc := range []struct {
				tool string
				args map[string]any
				want string
			}{
				{tool: "test_elicitation", args: map[string]any{"message": "Who?"}, want: "User response: ada <ada@example.com>"},
				{tool: "test_sampling", args: map[string]any{"prompt": "Say hi."}, want: "LLM response: Hi"},
				{tool: "test_missing_capability", want: "Hi"},
				{tool: "test_streaming_elicitation", want: "Hello, Ada!"},
				{tool: "test_elicitation_sep1034_defaults", want: "Elicitation completed: map[age:30 name:John Doe score:95.5 status:active verified:true]"},
				{tool: "test_elicitation_sep1330_enums", want: "Elicitation completed: map[]"},
				{tool: "test_input_required_result_elicitation", want: "Hello, Ada!"},
				{tool: "test_input_required_result_sampling", want: "Hi"},
				{tool: "test_input_required_result_list_roots", want: "The client's roots: file:///home/ada."},
				{tool: "test_input_required_result_request_state", want: "state-ok"},
				{tool: "test_input_required_result_multiple_inputs", want: "Hi Ada, your roots: file:///home/ada."},
				{tool: "test_input_required_result_multi_round", want: "Ada likes blue."},
				{tool: "test_input_required_result_tampered_state", want: "Confirmed."},
				{tool: "test_input_required_result_capabilities", want: "Hi, Ada!"},
			} {
				t.Run(tc.tool, func(t *testing.T) {
					args := tc.args
					if args == nil {
						args = map[string]any{}
					}
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tc.tool, Arguments: args})
					require.NoError(t, err)
					require.Len(t, res.Content, 1)
					require.Equal(t, tc.want, res.Content[0].(*mcp.TextContent).Text)
					require.False(t, res.IsError)
				})
			}
			t.Run("prompt", func(t *testing.T) {
				res, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "test_input_required_result_prompt"})
				require.NoError(t, err)
				require.Len(t, res.Messages, 1)
				require.Equal(t, "Context: a test", res.Messages[0].Content.(*mcp.TextContent).Text)
			})
		})
	}
}

// dial connects a client whose user and model answer whatever is asked.
func dial(t *testing.T, version string) *mcp.ClientSession {
	t.Helper()
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	client := mcp.NewClient(&mcp.Implementation{Name: "ada", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			known := map[string]any{
				"name": "Ada", "username": "ada", "email": "ada@example.com", "ok": true, "color": "blue", "context": "a test",
			}
			content := map[string]any{}
			schema := req.Params.RequestedSchema.(map[string]any)
			required, _ := schema["required"].([]any)
			for _, name := range required {
				content[name.(string)] = known[name.(string)]
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "Hi"}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///home/ada"})
	near, far := mcp.NewInMemoryTransports()
	_, err = newServer(rt).Connect(t.Context(), far, nil)
	require.NoError(t, err)
	session, err := client.Connect(t.Context(), near, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

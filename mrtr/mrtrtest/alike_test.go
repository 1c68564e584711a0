package mrtrtest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// saying is a subject whose tool has its effect and returns a text.
func saying(name, text string) Subject {
	build := func(w *World) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			w.Effect("greeted")
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
		return server
	}
	return Subject{Name: name, Build: build}
}

func greeting(text string) Contract {
	return Contract{
		Name: "greet", Script: Script{Tool: "greet", Arguments: struct{}{}}, Requests: 1,
		Ends: Ending{Text: text}, Effects: []string{"greeted"},
	}
}

func TestAlike(t *testing.T) {
	tests := []struct {
		explanation string
		subjects    []Subject
		broken      []string // subject and rule of each finding
	}{
		{"subjects that keep the contract", []Subject{saying("a", "hello"), saying("b", "hello")}, nil},
		{"a wrong result is also another transcript", []Subject{saying("a", "hello"), saying("b", "bye")}, []string{"b result", "b transcript"}},
		{"a broken reference is not compared with", []Subject{saying("a", "bye"), saying("b", "hello")}, []string{"a result"}},
	}
	require.NotEmpty(t, tests)
	for _, in := range []*Options{nil, {FreshInstances: true}} {
		for _, tt := range tests {
			t.Run(in.String()+"/"+tt.explanation, func(t *testing.T) {
				found, err := Differences(t.Context(), tt.subjects, []Contract{greeting("hello")}, in)
				require.NoError(t, err)
				var broken []string
				for _, f := range found {
					broken = append(broken, f.Subject.Name+" "+f.Rule)
					require.Contains(t, f.String(), f.Explanation)
				}
				require.Equal(t, tt.broken, broken)
			})
		}
	}
}

func TestAlikeRefusesToCompareNothing(t *testing.T) {
	_, err := Differences(t.Context(), nil, []Contract{greeting("hello")}, nil)
	require.Error(t, err)
	_, err = Differences(t.Context(), []Subject{saying("a", "hello")}, nil, nil)
	require.Error(t, err)
}

func TestMaskedHidesIDsAndStatesAlone(t *testing.T) {
	tests := []struct{ raw, want string }{
		{`{"id":7,"method":"tools/list"}`, `{"id":"*","method":"tools/list"}`},
		{`{"method":"notifications/initialized"}`, `{"method":"notifications/initialized"}`},
		{`{"id":1,"params":{"requestState":"abc","name":"t"}}`, `{"id":"*","params":{"name":"t","requestState":"*"}}`},
		{`{"id":1,"result":{"requestState":"abc","time":"noon"}}`, `{"id":"*","result":{"requestState":"*","time":"noon"}}`},
		{`{"id":1,"result":{"requestState":null}}`, `{"id":"*","result":{"requestState":"*"}}`},
		{`{"id":1,"result":{"deep":{"requestState":"abc"}}}`, `{"id":"*","result":{"deep":{"requestState":"abc"}}}`},
	}
	for _, tt := range tests {
		got, err := masked(json.RawMessage(tt.raw))
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}
	_, err := masked(json.RawMessage(`[`))
	require.Error(t, err)
}

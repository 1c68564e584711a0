package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// chart is an output with an image and a link beside its text.
type chart struct {
	Points int `json:"points"`
	png    []byte
}

func (c chart) Text() string { return fmt.Sprintf("%d points.", c.Points) }

func (c chart) Content() []mcp.Content {
	return []mcp.Content{
		&mcp.ImageContent{Data: c.png, MIMEType: "image/png"},
		&mcp.ResourceLink{URI: "file:///chart.csv", Name: "the points"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///note", Text: "a note"}},
	}
}

func (c chart) Meta() mcp.Meta { return mcp.Meta{"org.example/points": c.Points} }

// brokenChart has content that is nil, which is an error result.
type brokenChart struct{ chart }

func (brokenChart) Content() []mcp.Content { var none *mcp.ImageContent; return []mcp.Content{none} }

// emptyChart has content that is no content at all.
type emptyChart struct{ chart }

func (emptyChart) Content() []mcp.Content { return []mcp.Content{nil} }

// annotated has _meta and no content of its own.
type annotated struct {
	N int `json:"n"`
}

func (annotated) Meta() mcp.Meta { return annotation }

// annotation is that of all results.
var annotation = mcp.Meta{"org.example/a": true}

func TestAnOutputMayHaveContentOfItsOwn(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, mrtr.Native(resulting(func() chart { return chart{3, []byte("png")} })), nil))
	mcp.AddTool(server, &mcp.Tool{Name: "broken"}, mrtr.Tool(rt, mrtr.Native(resulting(func() brokenChart { return brokenChart{} })), nil))
	mcp.AddTool(server, &mcp.Tool{Name: "empty"}, mrtr.Tool(rt, mrtr.Native(resulting(func() emptyChart { return emptyChart{} })), nil))
	mcp.AddTool(server, &mcp.Tool{Name: "annotated"}, mrtr.Tool(rt, mrtr.Native(resulting(func() annotated { return annotated{7} })), nil))
	client := connect(t, server, nil)
	result := func(name string) (whole struct {
		Content []map[string]any
		Meta    map[string]any `json:"_meta"`
	}, isError bool) {
		out, err := client.Call(context.Background(), name, map[string]any{}, nil)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(out.Result, &whole))
		return whole, out.IsError
	}
	whole, isError := result("tool")
	require.False(t, isError)
	var types []any
	for _, content := range whole.Content {
		types = append(types, content["type"])
	}
	require.Equal(t, []any{"text", "image", "resource_link", "resource"}, types, "the text comes first")
	require.Equal(t, "3 points.", whole.Content[0]["text"])
	require.Equal(t, float64(3), whole.Meta["org.example/points"])

	for _, name := range []string{"broken", "empty"} {
		_, isError = result(name)
		require.True(t, isError, name)
	}

	whole, isError = result("annotated")
	require.False(t, isError)
	require.Equal(t, true, whole.Meta["org.example/a"])
	require.Equal(t, `{"n":7}`, whole.Content[0]["text"], "go-sdk makes the content that the output does not have")
	require.Len(t, annotation, 1, "go-sdk writes to a copy")
}

// resulting is a handler that asks nothing.
func resulting[T any](result func() T) mrtr.GuardedFunc[input, T] {
	return func(context.Context, *mrtr.Call, input) (*mrtr.IncompleteResult, T, error) { return nil, result(), nil }
}

// A whole result would be nested in the structured output of another.
func TestAResultIsNoOutput(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	says := "which would be nested in itself"
	for _, register := range []func(){
		func() { mrtr.Tool(rt, mrtr.Native(resulting(func() *mcp.CallToolResult { return nil })), nil) },
		func() { mrtr.Tool(rt, mrtr.Native(resulting(func() (r mcp.CallToolResult) { return r })), nil) },
	} {
		func() {
			defer func() {
				var usage *mrtr.UsageError
				require.ErrorAs(t, recover().(error), &usage)
				require.ErrorContains(t, usage, says)
			}()
			register()
		}()
	}
	require.NotNil(t, mrtr.RawTool(rt, mrtr.Native(func(context.Context, *mrtr.Call, json.RawMessage) (*mrtr.IncompleteResult, *mcp.CallToolResult, error) {
		return nil, nil, nil
	}), nil))
}

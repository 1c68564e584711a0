package transcript_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transcript"
)

// go-sdk reads a conversation repaired in sampling style, error results included.
func TestSamplingIsWhatTheSDKReads(t *testing.T) {
	paths, err := filepath.Glob("testdata/sampling-*.json")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	errorResults := 0
	for _, path := range paths {
		file, err := os.Open(path)
		require.NoError(t, err)
		read, err := transcript.Read(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		fixed, _ := read.Repair()
		for _, m := range wireMessages(t, string(fixed.Bytes())) {
			var got mcp.SamplingMessageV2
			raw, err := json.Marshal(m)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(raw, &got), "%s: %s", path, raw)
			for _, c := range got.Content {
				if r, ok := c.(*mcp.ToolResultContent); ok && r.IsError {
					errorResults++
					require.NotEmpty(t, r.ToolUseID)
					require.IsType(t, (*mcp.TextContent)(nil), r.Content[0])
				}
			}
		}
	}
	require.NotZero(t, errorResults)
}

// A conversation written by go-sdk is recognized as sampling style and checked.
func TestSamplingFromTheSDK(t *testing.T) {
	raw, err := json.Marshal([]*mcp.SamplingMessageV2{
		{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "Weather?"}}},
		{Role: "assistant", Content: []mcp.Content{&mcp.ToolUseContent{ID: "a", Name: "weather"}}},
		{Role: "user", Content: []mcp.Content{&mcp.ToolResultContent{ToolUseID: "a"}, &mcp.ToolResultContent{ToolUseID: "b"}}},
	})
	require.NoError(t, err)
	read, err := transcript.Read(strings.NewReader(string(raw)))
	require.NoError(t, err)
	require.Equal(t, transcript.Sampling, read.Style())
	found := read.Check()
	require.Len(t, found, 1)
	require.Equal(t, transcript.Orphan, found[0].Kind)
	require.Equal(t, 2, found[0].Message)
	require.Equal(t, 1, found[0].Block)
}

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

var update = flag.Bool("update", false, "write testdata anew")

// stateFile is a state as the engine seals it in the second round of a call:
// one question answered, an effect remembered, one question pending. It is a
// file because the codec under Node reads it too.
const stateFile = "testdata/state.json"

func realState(t testing.TB) []byte {
	state, err := os.ReadFile(stateFile)
	require.NoError(t, err)
	return state
}

// The codecs are measured with a state as the engine seals it today.
func TestTheStateIsReal(t *testing.T) {
	sealed := sealedByTheEngine(t)
	if *update {
		require.NoError(t, os.WriteFile(stateFile, sealed, 0o644))
	}
	require.Equal(t, timeless(t, realState(t)), timeless(t, sealed))
}

// timeless is a state without the fields that differ between calls or builds.
func timeless(t *testing.T, state []byte) map[string]any {
	var fields map[string]any
	require.NoError(t, json.Unmarshal(state, &fields))
	require.NotEmpty(t, fields["call"])
	require.NotEmpty(t, fields["version"])
	delete(fields, "call")
	delete(fields, "version")
	return fields
}

// sealedByTheEngine plays two rounds with readable states, and reads the second.
func sealedByTheEngine(t *testing.T) []byte {
	rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Ephemeral: true, Readable: true}})
	require.NoError(t, err)
	defer func() { require.NoError(t, rt.Close()) }()
	once := options.Once(rt, audit())
	token := playRound(t, once, "Springfield", "", nil)
	token = playRound(t, once, "Springfield", token, mcp.InputResponseMap{"place": &mcp.ElicitResult{
		Action: "accept", Content: map[string]any{"place": "Springfield, Illinois"},
	}})
	body := regexp.MustCompile(`eyJ2Ijo[A-Za-z0-9_-]*`).FindString(token) // {"v": in base64
	require.NotEmpty(t, body)
	state, err := base64.RawURLEncoding.DecodeString(body[:len(body)-len(body)%4])
	require.NoError(t, err)
	end := strings.LastIndexByte(string(state), '}')
	for ; end > 0 && !json.Valid(state[:end+1]); end = strings.LastIndexByte(string(state[:end]), '}') {
	}
	require.Positive(t, end)
	return state[:end+1]
}

// playRound enters a handler as a modern client does, without a transport, and
// returns the state it hands out.
func playRound(t testing.TB, h options.Handler, place, state string, answers mcp.InputResponseMap) (token string) {
	arguments, err := json.Marshal(options.Query{Location: place})
	require.NoError(t, err)
	res, _, err := h(context.Background(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Name: "weather", Arguments: arguments, RequestState: state, InputResponses: answers,
		Meta: mcp.Meta{
			mcp.MetaKeyProtocolVersion:    "2026-07-28",
			mcp.MetaKeyClientInfo:         map[string]any{"name": "client", "version": "1"},
			mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
		},
	}}, options.Query{Location: place})
	require.NoError(t, err)
	require.Len(t, res.InputRequests, 1)
	return res.RequestState
}

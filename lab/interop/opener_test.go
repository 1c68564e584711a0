package interop_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/statecodec"
)

// opened is the opener's verdict on one token.
type opened struct {
	Name, Payload string
	Refused       string
}

func openElsewhere(t *testing.T, files ...string) (all []opened) {
	output, err := exec.Command(nodeProgram(), append([]string{"opener/opener.mjs"}, files...)...).Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(output)) {
		var o opened
		require.NoError(t, json.Unmarshal([]byte(line), &o))
		all = append(all, o)
	}
	return all
}

// The specification of the sealed state is enough to write an opener from, in a language
// that shares no library with this one.
func TestAnOpenerInAnotherLanguageReadsTheVectors(t *testing.T) {
	requirePeers(t)
	all := 0
	for _, file := range []string{"opened.txt", "refused.txt"} {
		file = filepath.Join("../../statecodec/testdata", file)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		vectors := strings.Split("\n"+string(text), "\n-- ")[1:]
		verdicts := openElsewhere(t, file)
		require.Len(t, verdicts, len(vectors))
		for i, vector := range vectors {
			o := verdicts[i]
			require.True(t, strings.HasPrefix(vector, o.Name+" --\n"))
			expected := "\nexpect: " + o.Refused + "\n"
			if o.Refused == "" {
				expected = "\nexpect: opened\n"
				_, payload, _ := strings.Cut(vector, "\npayload: ")
				payload, _, _ = strings.Cut(payload, "\n")
				require.Equal(t, payload, o.Payload, o.Name)
			}
			require.Contains(t, vector, expected, o.Name)
			all++
		}
	}
	require.Greater(t, all, 80)
}

// The state of a running call opens there too, and the members of its payload are those
// that the appendix of the specification names.
func TestAnOpenerInAnotherLanguageReadsAState(t *testing.T) {
	requirePeers(t)
	secret := []byte("a secret of thirty-two bytes, no")
	key, err := statecodec.NewKey(secret)
	require.NoError(t, err)
	rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}})
	require.NoError(t, err)
	type in struct {
		Sum int `json:"sum"`
	}
	type out struct {
		Receipt string `json:"receipt"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, mrtr.Tool(rt, linear.Journal(func(ctx context.Context, c *mrtr.Call, input in) (out, error) {
		hold, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (string, error) { return "hold \"1\"\n", nil })
		if err != nil {
			return out{}, err
		}
		_, err = linear.Ask(ctx, c, mrtr.Confirm("pay", fmt.Sprintf("Pay %d?\n{\"now\"}", input.Sum)))
		return out{hold}, err
	}), nil))
	client, err := wire.Connect(t.Context(), server, nil)
	require.NoError(t, err)
	defer client.Close()
	reply, err := client.Send(t.Context(), wire.Request{Name: "pay", Arguments: in{5}})
	require.NoError(t, err)

	vector := filepath.Join(t.TempDir(), "state.txt")
	require.NoError(t, os.WriteFile(vector, fmt.Appendf(nil,
		"-- state --\nkey: %x\npurpose: request_state\ntime: %s\nskew: 30s\nmethod: tools/call\ntarget: pay\narguments: {\"sum\":5}\n\n%s\n",
		secret, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), reply.State), 0o600))
	verdicts := openElsewhere(t, vector)
	require.Len(t, verdicts, 1)
	o := verdicts[0]
	require.Empty(t, o.Refused)
	payload, err := hex.DecodeString(o.Payload)
	require.NoError(t, err)
	var state struct {
		V       int    `json:"v"`
		Call    string `json:"call"`
		Round   int    `json:"round"`
		Asked   int    `json:"asked"`
		From    string `json:"from"`
		Journal bool   `json:"journal"`
		Done    []struct {
			Key, Kind string
			Value     string
		} `json:"done"`
		Pending []struct {
			Key, Text string
			Form      json.RawMessage
			Lenient   bool
		} `json:"pending"`
	}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&state), "%s", payload)
	require.Equal(t, 3, state.V)
	require.NotEmpty(t, state.Call)
	require.Equal(t, 1, state.Round)
	require.True(t, state.Journal)
	require.Len(t, state.Done, 1)
	require.Equal(t, "hold \"1\"\n", state.Done[0].Value)
	require.Len(t, state.Pending, 1)
	require.Equal(t, "Pay 5?\n{\"now\"}", state.Pending[0].Text)
}

package sse

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

func TestPeek(t *testing.T) {
	const modern = `{"id":"a","method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	const legacy = `{"id":7,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}`
	const note = `{"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	cases := []struct {
		explanation string
		body        string
		modern      bool
		calls       []string
	}{
		{"a modern call", modern, true, []string{`"a"`}},
		{"a call that names an older revision", legacy, false, []string{`7`}},
		{"a notification names no era", note, false, nil},
		{"a response", `{"id":1,"result":{}}`, false, nil},
		{"a batch is modern when one of its calls is", ` [` + legacy + `,` + note + `,` + modern + `]`, true, []string{`7`, `"a"`}},
		{"params of another shape", `{"id":1,"method":"m","params":[1]}`, false, []string{`1`}},
		{"a version that is no string", `{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":3}}}`, false, []string{`1`}},
		{"no JSON", `{"id":1,`, false, nil},
		{"half a batch", `[{"id":1,"method":"m"}`, false, nil},
		{"nothing", ``, false, nil},
	}
	for _, c := range cases {
		got := peek([]byte(c.body))
		require.Equal(t, c.modern, got.modern, c.explanation)
		var calls []string
		for _, id := range got.calls {
			calls = append(calls, string(id))
		}
		require.Equal(t, c.calls, calls, c.explanation)
	}
}

// What go-sdk takes for a call of some method, routing must count as one: a call that Shutdown
// does not know of would be cut off.
func FuzzPeek(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	f.Add(`{"jsonrpc":"2.0","id":"x","method":"m"}`)
	f.Add(`{"jsonrpc":"2.0","method":"m","params":null}`)
	f.Add(`[{},[],null]`)
	f.Add(`{"jsonrpc":"2.0","id":0,"method":""}`)
	f.Add(`{"jsonrpc":"2.0","id":0,"method":"m"}0`)
	f.Fuzz(func(t *testing.T, body string) {
		found := peek([]byte(body))
		if found.modern {
			require.NotEmpty(t, found.calls)
		}
		msg, err := jsonrpc.DecodeMessage([]byte(body))
		if err != nil {
			return
		}
		if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && req.Method != "" {
			require.Len(t, found.calls, 1)
		}
	})
}

func TestHostname(t *testing.T) {
	for hostport, want := range map[string]string{
		"Example.COM:80": "example.com", "example.com.": "example.com", "[::1]:80": "::1",
		"[::1]": "::1", "127.0.0.1:0": "127.0.0.1", "": "", "::1": "::1",
	} {
		require.Equal(t, want, hostname(hostport), hostport)
	}
	for _, name := range []string{"localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"} {
		require.True(t, isLoopback(name), name)
	}
	for _, name := range []string{"", "0.0.0.0", "localhost.example", "127.0.0.1.example", "10.0.0.1", "::2"} {
		require.False(t, isLoopback(name), name)
	}
}

package mcphttp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/internal/message"
)

const modernVersion = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`

func TestPeek(t *testing.T) {
	const modern = `{"jsonrpc":"2.0","id":"a","method":"m","params":{` + modernVersion + `}}`
	const legacy = `{"jsonrpc":"2.0","id":7,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}`
	const note = `{"jsonrpc":"2.0","method":"m","params":{` + modernVersion + `}}`
	call := func(members string) string { return `{"jsonrpc":"2.0","id":1,"method":"m",` + members + `}` }
	cases := []struct {
		explanation string
		body        string
		modern      bool
		calls       []any
	}{
		{"a modern call", modern, true, []any{"a"}},
		{"a call that names an older revision", legacy, false, []any{int64(7)}},
		{"a notification names no era", note, false, nil},
		{"null is no id", `{"jsonrpc":"2.0","id":null,"method":"m"}`, false, nil},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, false, nil},
		{"a batch is modern when one of its calls is", " \r\n\t[" + legacy + "," + note + "," + modern + "]", true, []any{int64(7), "a"}},
		{"params of another shape", call(`"params":[1]`), false, []any{int64(1)}},
		{"a version that is no string", call(`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":3}}`), false, []any{int64(1)}},
		{"members of another case are others", call(`"Method":"","ID":2,"Params":{` + modernVersion + `}`), false, []any{int64(1)}},
		{"_meta of another case is another", call(`"params":{` + modernVersion + `,"_Meta":{"io.modelcontextprotocol/protocolVersion":""}}`), true, []any{int64(1)}},
		{"_meta spelled out", call(`"params":{` + strings.Replace(modernVersion, "_meta", `\u005fmeta`, 1) + `}`), true, []any{int64(1)}},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		messages, err := split([]byte(c.body))
		require.NoError(t, err, c.explanation)
		found, err := peek(messages)
		require.NoError(t, err, c.explanation)
		require.Equal(t, c.modern, found.modern, c.explanation)
		var calls []any
		for _, id := range found.calls {
			calls = append(calls, id.Raw())
		}
		require.Equal(t, c.calls, calls, c.explanation)
	}
	for _, body := range []string{``, ` `, `null`, `0`, `{}`, `{"id":1,`, `[]`, `[0]`, `[` + note, `[` + note + ` ` + note + `]`, `[` + note + `,]`, `[` + note + `}`, note + legacy, "[" + note + "]" + legacy, note + "\x00"} {
		messages, err := split([]byte(body))
		if err == nil {
			_, err = peek(messages)
		}
		require.Error(t, err, body)
	}
}

// A body is read as far as it takes to refuse it.
func TestPeekStopsAtTheCap(t *testing.T) {
	_, err := split([]byte("[" + strings.Repeat("0,", maxBatch) + "0, and so on"))
	require.ErrorIs(t, err, errLongBatch)
}

// A message that go-sdk answers is a call, and routing must have counted it as
// one: a call that it does not know of would escape the drain and outlive its
// client. go-sdk must not have run a message that routing refuses.
func FuzzPeek(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernVersion + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernVersion + `},"Params":{}}`,
		`{"jsonrpc":"2.0","id":"x","method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","Method":""}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":5}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","ID":null}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"","method":"ping"}`,
		`{"jsonrpc":"2.0","id":1.5,"m\u0065thod":"ping"}`,
		`{"jsonrpc":"2.0","id":1e19,"method":"ping"}`,
		`{"jsonrpc":"2.0","method":"ping","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping","Method":""}]`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},0]`,
		`[{},[],null]`,
		`{"jsonrpc":"2.0","id":0,"method":"ping"}0`,
		"\f{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}",
	} {
		f.Add(body)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	f.Fuzz(func(t *testing.T, body string) {
		messages, err := split([]byte(body))
		var found contents
		if err == nil {
			found, err = peek(messages)
		}
		known := map[any]bool{}
		for _, id := range found.calls {
			known[id.Raw()] = true
		}
		if err != nil || slices.ContainsFunc(messages, func(m json.RawMessage) bool { return message.Refusal(m) != nil }) {
			return // it does not come so far
		}
		for _, id := range answeredBySDK(t, server, body) {
			require.True(t, known[id.Raw()], "%v ran unseen", id.Raw())
			require.False(t, found.modern, "modern, and yet a session ran it")
		}
	})
}

// answeredBySDK posts a body into a new session of revision 2025-03-26, the one that
// knows batches, and gives the ids that go-sdk answers.
func answeredBySDK(t *testing.T, server *mcp.Server, body string) (ids []jsonrpc.ID) {
	transport := &mcp.StreamableServerTransport{SessionID: "s"}
	session, err := server.Connect(t.Context(), transport, &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{
		InitializeParams:  &mcp.InitializeParams{ProtocolVersion: "2025-03-26"},
		InitializedParams: &mcp.InitializedParams{},
	}})
	require.NoError(t, err)
	defer session.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of what never ends of itself
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	transport.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil
	}
	for line := range bytes.Lines(w.Body.Bytes()) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		message, err := jsonrpc.DecodeMessage(data)
		require.NoError(t, err)
		if res, ok := message.(*jsonrpc.Response); ok {
			ids = append(ids, res.ID)
		}
	}
	return ids
}

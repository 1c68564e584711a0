package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/internal/message"
)

func TestDecodeRefuses(t *testing.T) {
	cases := []struct{ explanation, in string }{
		{"nothing", ``},
		{"not JSON", `hello`},
		{"cut short", `{"jsonrpc":"2.0","id":1,"method":"ping"`},
		{"two messages in one", `{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}`},
		{"a batch", `[{"jsonrpc":"2.0","method":"a"}]`},
		{"null", `null`},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`},
		{"no version", `{"id":1,"method":"ping"}`},
		{"a name in another case is another name", `{"jsonrpc":"2.0","Method":"ping"}`},
		{"neither method nor id", `{"jsonrpc":"2.0","result":{}}`},
		{"an error that answers nothing", `{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}`},
		{"method of a wrong type", `{"jsonrpc":"2.0","id":1,"method":7}`},
		{"id of a wrong type", `{"jsonrpc":"2.0","id":{},"method":"ping"}`},
		{"id out of range", `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`},
		{"id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`},
		{"id with an exponent", `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`},
		{"id with a fraction in an error", `{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":"m"}}`},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			msg, err := message.Decode([]byte(c.in))
			require.Error(t, err)
			require.Nil(t, msg)
		})
	}
}

func TestDecodeAccepts(t *testing.T) {
	cases := []struct{ explanation, in string }{
		{"a call", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		{"space wherever it may be", "\r\n{\t\"jsonrpc\" :\r\"2.0\" ,\n\"id\": 1 , \"result\" : [ {\"a\":\"]}\\\"\"} ] }\n"},
		{"escaped names", `{"\u006asonrpc":"2.0","id":1,"metho\u0064":"ping"}`},
		{"other members, nested", `{"x":{"method":"no","y":[{"id":9}]},"jsonrpc":"2.0","method":"m","id":"1"}`},
		{"the last of two members counts", `{"jsonrpc":"2.0","method":"a","method":"b"}`},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":[]}}`},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			msg, err := message.Decode([]byte(c.in))
			require.NoError(t, err)
			requireSame(t, jsonrpc.DecodeMessage, []byte(c.in), msg)
		})
	}
}

func TestDecodeDoesNotKeepItsInput(t *testing.T) {
	in := []byte(`{"jsonrpc":"2.0","id":"abc","method":"m","params":{"a":1}}`)
	msg, err := message.Decode(in)
	require.NoError(t, err)
	for i := range in {
		in[i] = 'x'
	}
	req := msg.(*jsonrpc.Request)
	require.Equal(t, "abc", req.ID.Raw())
	require.Equal(t, "m", req.Method)
	require.JSONEq(t, `{"a":1}`, string(req.Params))
}

func TestAppendIsTheEncodingOfTheSDK(t *testing.T) {
	number, err := jsonrpc.MakeID(float64(-7))
	require.NoError(t, err)
	text, err := jsonrpc.MakeID("a\"\\\u2028<é")
	require.NoError(t, err)
	cases := []struct {
		explanation string
		msg         jsonrpc.Message
	}{
		{"call", &jsonrpc.Request{ID: number, Method: "tools/call", Params: json.RawMessage(`{"name":"x"}`)}},
		{"call without params", &jsonrpc.Request{ID: text, Method: "ping"}},
		{"notification with an odd name", &jsonrpc.Request{Method: "a\"\n<b>", Params: json.RawMessage(`[]`)}},
		{"response", &jsonrpc.Response{ID: number, Result: json.RawMessage(`{"content":[]}`)}},
		{"response to a named call", &jsonrpc.Response{ID: text, Result: json.RawMessage(`1`)}},
		{"error", &jsonrpc.Response{ID: text, Error: &jsonrpc.Error{Code: -32602, Message: "no", Data: json.RawMessage(`{"a":[1]}`)}}},
		{"error of another type", &jsonrpc.Response{ID: number, Error: errors.New("plain")}},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			want, err := jsonrpc.EncodeMessage(c.msg)
			require.NoError(t, err)
			got, err := message.Append([]byte("used before")[:0], c.msg)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got))
			back, err := message.Decode(got)
			require.NoError(t, err)
			requireSame(t, jsonrpc.DecodeMessage, got, back)
		})
	}
}

func TestAppendRefusesWhatIsNoMessage(t *testing.T) {
	_, err := message.Append(nil, nil)
	require.ErrorContains(t, err, "cannot encode")
}

// requireSame holds a message against what another decoder makes of the bytes.
func requireSame(t *testing.T, other func([]byte) (jsonrpc.Message, error), data []byte, got jsonrpc.Message) {
	t.Helper()
	want, err := other(data)
	require.NoError(t, err, "%q", data)
	if req, ok := got.(*jsonrpc.Request); ok {
		wantReq, ok := want.(*jsonrpc.Request)
		require.True(t, ok, "%q", data)
		require.Equal(t, wantReq.ID, req.ID, "%q", data)
		require.Equal(t, wantReq.Method, req.Method, "%q", data)
		require.Equal(t, string(wantReq.Params), string(req.Params), "%q", data)
		return
	}
	wantResp, ok := want.(*jsonrpc.Response)
	require.True(t, ok, "%q", data)
	resp := got.(*jsonrpc.Response)
	require.Equal(t, wantResp.ID, resp.ID, "%q", data)
	require.Equal(t, wantResp.Error, resp.Error, "%q", data)
	require.Equal(t, string(wantResp.Result), string(resp.Result), "%q", data)
}

// FuzzDecode: whatever is accepted here is accepted by the SDK's decoder, and
// means the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		` {"jsonrpc":"2.0","method":"notifications/progress","params":{"a":[1,"b",null]}} `,
		`{"jsonrpc":"2.0","id":"x","result":{"resultType":"input_required"}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no","data":{}}}`,
		`{"jsonrpc":"2.0","id":3,"error":null,"result":null}`,
		`{"jsonrpc":"2.0","id":null,"method":"","params":null}`,
		`{"jsonrpc":"2.0","id":1.5e3,"ID":2,"method":"a","method":"b","Params":1}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"\u00e9"}`,
		`{"jsonrpc":"2.0","id":1,"method":null}`,
		"{\t\"jsonrpc\" :\r\"2.0\" ,\n\"id\": 1 , \"result\" : [ {\"a\":\"]}\\\"\"} ] }",
		`{"\u006asonrpc":"2.0","\"":1,"id":-0,"method":"a\\","params":[[],{"b":"}"}]}`,
		`{"jsonrpc":"2.0","id":1e400,"method":"a"}`,
		`[]`, `{}`, `null`, `"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msg, err := message.Decode(data)
		if err != nil {
			return
		}
		if !bytes.Contains(data, []byte("requestId")) && !message.HasLarge(msg) { // which go-sdk rounds
			requireSame(t, jsonrpc.DecodeMessage, data, msg)
		}
		again, err := message.Append(nil, msg)
		require.NoError(t, err)
		require.True(t, json.Valid(again), "%q", again)
	})
}

func TestMember(t *testing.T) {
	const object = `{"a":{"b":[1],"c":null,"b":"last"},"A":1,"d":"x\u0041","a2":{}}`
	for _, test := range []struct{ path, want string }{
		{"a b", `"last"`}, {"a c", "null"}, {"A", "1"}, {"a B", ""}, {"b", ""}, {"a b c", ""}, {"a2 x", ""}, {"d", `"x\u0041"`},
	} {
		require.Equal(t, test.want, string(message.Member([]byte(object), strings.Fields(test.path)...)), test.path)
	}
	for _, none := range []string{``, `null`, `[]`, `"a"`, `7`} {
		require.Nil(t, message.Member([]byte(none), "a"), none)
	}
	text, ok := message.Text([]byte(object), "d")
	require.True(t, ok)
	require.Equal(t, "xA", text)
	_, ok = message.Text([]byte(object), "A")
	require.False(t, ok)
}

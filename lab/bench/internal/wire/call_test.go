package wire

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// script answers each request with the next response.
type script struct {
	responses []string
	requests  []string
}

func (s *script) send(_, _ string, request []byte) ([]byte, error) {
	s.requests = append(s.requests, string(request))
	if len(s.requests) > len(s.responses) {
		return nil, errors.New("one request too many")
	}
	return []byte(s.responses[len(s.requests)-1]), nil
}

func (s *script) Close() error { return nil }

// A server that is fast because it does something else must not be measured.
func TestMakeChecksWhatTheCallCameTo(t *testing.T) {
	const asks = `{"result":{"resultType":"input_required","requestState":"s\"1","inputRequests":{"units":{}}}}`
	const done = `{"result":{"resultType":"complete","content":[{"type":"text","text":"Fine."}]}}`
	call := Call{Tool: "weather", Arguments: `{}`, Answers: map[string]string{"units": "metric"}, Text: "Fine.", Requests: 2}
	list := Call{Tools: 1}
	for _, c := range []struct {
		explanation string
		call        Call
		responses   []string
		err         string
	}{
		{"two rounds", call, []string{asks, done}, ""},
		{"a server that does not ask", call, []string{done}, "after 1 requests"},
		{"a server that asks twice", call, []string{asks, asks}, "came to"},
		{"an unknown question", call, []string{`{"result":{"resultType":"input_required","inputRequests":{"place":{}}}}`}, "nobody expected"},
		{"another text", call, []string{asks, `{"result":{"content":[{"text":"Rain."}]}}`}, "Rain."},
		{"an error that has the text", call, []string{asks, `{"result":{"isError":true,"content":[{"text":"Fine."}]}}`}, "isError"},
		{"a protocol error", call, []string{`{"error":{"code":-32602}}`}, "-32602"},
		{"no JSON", call, []string{`gone`}, "invalid character"},
		{"a list", list, []string{`{"result":{"tools":[{"name":"a","inputSchema":{}}]}}`}, ""},
		{"a list of none", list, []string{`{"result":{"tools":[]}}`}, "0 tools"},
		{"a list without schemas", list, []string{`{"result":{"tools":[{"name":"a"}]}}`}, "without a name or a schema"},
	} {
		s := &script{responses: c.responses}
		err := modern{s}.Make(&c.call)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.explanation)
			continue
		}
		require.NoError(t, err, c.explanation)
		if c.call.Tools == 0 {
			require.Contains(t, s.requests[1], `"requestState":"s\"1","inputResponses":{"units":{"action":"accept","content":{"units":"metric"}}}`)
		}
	}
}

func TestLastEvent(t *testing.T) {
	data, err := lastEvent([]byte("event: message\ndata:\n\nid: 1\ndata: {\"a\":1}\n\n"))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1}`, string(data))
	_, err = lastEvent([]byte(": nothing\n\n"))
	require.ErrorIs(t, err, errNoEvent)
}

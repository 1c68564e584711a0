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

func (s *script) Send(_ string, request []byte) ([]byte, error) {
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
	for _, c := range []struct {
		explanation string
		responses   []string
		err         string
	}{
		{"two rounds", []string{asks, done}, ""},
		{"a server that does not ask", []string{done}, "after 1 requests"},
		{"a server that asks twice", []string{asks, asks}, "after 2 requests"},
		{"an unknown question", []string{`{"result":{"resultType":"input_required","inputRequests":{"place":{}}}}`}, "nobody expected"},
		{"another text", []string{asks, `{"result":{"content":[{"text":"Rain."}]}}`}, "Rain."},
		{"an error that has the text", []string{asks, `{"result":{"isError":true,"content":[{"text":"Fine."}]}}`}, "isError"},
		{"a protocol error", []string{`{"error":{"code":-32602}}`}, "-32602"},
		{"no JSON", []string{`gone`}, "invalid character"},
	} {
		s := &script{responses: c.responses}
		err := call.Make(s)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.explanation)
			continue
		}
		require.NoError(t, err, c.explanation)
		require.Contains(t, s.requests[1], `"requestState":"s\"1","inputResponses":{"units":{"action":"accept","content":{"units":"metric"}}}`)
	}
}

func TestLastEvent(t *testing.T) {
	data, err := lastEvent([]byte("event: message\ndata:\n\nid: 1\ndata: {\"a\":1}\n\n"))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1}`, string(data))
	_, err = lastEvent([]byte(": nothing\n\n"))
	require.Error(t, err)
}

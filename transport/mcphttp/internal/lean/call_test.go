package lean

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const usual = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool",
	"arguments":{"city":"Rome","nights":3,"guests":[{"name":"Ada"},{"name":"Bob"}]},
	"inputResponses":{"confirm":{"action":"accept","content":{"ok":true}}},"requestState":"abcdef",
	"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},
	"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`

// The walk itself allocates nothing: the call, its notes and its id remain.
func TestReadAllocatesLittle(t *testing.T) {
	r, front, body := &http.Request{Header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		methodHeader: {"tools/call"}, versionHeader: {"2026-07-28"}, nameHeader: {"tool"},
	}}, &Front{}, []byte(usual)
	require.NotNil(t, front.Read(r, body))
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { front.Read(r, body) }), 5.0)
}

package mrtr

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

// Sample asks the client's model for a message. The feature is deprecated
// upstream and still legal; a client that did not declare it, or sampling with
// tools where params name some, is refused.
func Sample(key string, params *mcp.CreateMessageWithToolsParams) Question[*mcp.CreateMessageWithToolsResult] {
	if err := checkKey(key); err != nil {
		return Question[*mcp.CreateMessageWithToolsResult]{err: err}
	}
	if params == nil {
		return Question[*mcp.CreateMessageWithToolsResult]{err: misuse("question %q: Sample needs params", key)}
	}
	sent, err := json.Marshal(params)
	if err != nil {
		return Question[*mcp.CreateMessageWithToolsResult]{err: misuse("question %q: sampling params: %v", key, err)}
	}
	kind := sampleKind
	if era.CapabilityFor(params) == era.SamplingTools {
		kind = toolsKind
	}
	return Question[*mcp.CreateMessageWithToolsResult]{spec: &spec{kind: kind, key: key, schema: sent}}
}

// Roots asks for the client's roots. The feature is deprecated upstream and
// still legal; a client that did not declare it is refused.
func Roots(key string) Question[*mcp.ListRootsResult] {
	if err := checkKey(key); err != nil {
		return Question[*mcp.ListRootsResult]{err: err}
	}
	return Question[*mcp.ListRootsResult]{spec: &spec{kind: rootsKind, key: key}}
}

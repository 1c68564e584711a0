package boundary

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// completeStamp is an empty result with resultType set. The field is unexported, so
// only go-sdk's decoder can set it; copies keep it.
var completeStamp = stamped[mcp.CallToolResult](`{"resultType":"complete","content":[]}`)

func stamped[T any](text string) (res T) {
	if err := json.Unmarshal([]byte(text), &res); err != nil {
		panic(err) // go-sdk no longer reads its own results
	}
	return res
}

// newResult is an empty result, with resultType if the client's era demands it.
// Every result that is not input_required is built from one, because code outside
// go-sdk cannot see whether a result from inside has its resultType.
func (c *call) newResult() *mcp.CallToolResult {
	var res mcp.CallToolResult
	if c.modern {
		res = completeStamp
	}
	res.Content = []mcp.Content{}
	return &res
}

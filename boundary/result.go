package boundary

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// completeStamp is an empty result with resultType set. The field is unexported
// and only the SDK's own decoding can set it, once; copies keep it.
var completeStamp = func() mcp.CallToolResult {
	var res mcp.CallToolResult
	if err := json.Unmarshal([]byte(`{"resultType":"complete","content":[]}`), &res); err != nil {
		panic(err) // go-sdk no longer reads its own results
	}
	return res
}()

// blank is a new result without content, stamped as the era of the call demands.
// Every result that is not input_required is made from one: whether a result that
// came from inside has its stamp, nobody outside the SDK can see.
func (c *call) blank() *mcp.CallToolResult {
	var res mcp.CallToolResult
	if c.modern() {
		res = completeStamp
	}
	res.Content = []mcp.Content{}
	return &res
}

package prove

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/probe"
	"github.com/mrtr-go/sdk/internal/wire"
)

// tool is the tool under proof, as the server lists it.
type tool struct {
	Name         string          `json:"name"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

// list is one page of tools/list, and the rest.
func (t *trial) list(c *wire.Client) []*tool {
	var all []*tool
	cursor := ""
	for range 100 {
		params := map[string]any{}
		if meta := c.Meta(); meta != nil {
			params["_meta"] = meta
		}
		if cursor != "" {
			params["cursor"] = cursor
		}
		s := t.send(c, wire.Request{Method: "tools/list", Params: params})
		if s.reply == nil || s.protocol() {
			t.failAt(s, "tools/list: %s", s.outline())
		}
		var page struct {
			Tools      []*tool `json:"tools"`
			NextCursor string  `json:"nextCursor"`
		}
		if err := json.Unmarshal(s.reply.Result, &page); err != nil {
			t.fail("tools/list does not read: %v", err)
		}
		for _, tool := range page.Tools {
			if tool != nil {
				all = append(all, tool)
			}
		}
		if cursor = page.NextCursor; cursor == "" || len(all) > 10_000 {
			break
		}
	}
	return all
}

func (t *trial) findTool(c *wire.Client) *tool {
	all := t.list(c)
	for _, tool := range all {
		if tool.Name == t.scenario.Tool {
			return tool
		}
	}
	t.fail("the server lists no tool %q, but %s", t.scenario.Tool, names(all))
	return nil
}

// names are those of the first tools, for a person who has mistyped one.
func names(tools []*tool) string {
	const most = 12
	if len(tools) == 0 {
		return "none at all"
	}
	var text []string
	for _, tool := range tools[:min(most, len(tools))] {
		text = append(text, fmt.Sprintf("%.60q", tool.Name))
	}
	if more := len(tools) - most; more > 0 {
		text = append(text, fmt.Sprintf("%d more", more))
	}
	return strings.Join(text, ", ")
}

// sampled makes values that fit a schema, and survives any.
func sampled(schema *jsonschema.Schema) (made map[string]any, err error) {
	defer guarded(&err)
	return probe.Sample(schema)
}

// sample makes arguments that fit the input schema.
func (tool *tool) sample(t *trial) map[string]any {
	schema, err := probe.ReadSchema(tool.InputSchema)
	if err != nil {
		t.fail("its inputSchema does not read: %v", err)
	}
	arguments, err := sampled(schema)
	if err != nil {
		t.fail("no arguments can be made from its inputSchema: %v", err)
	}
	return arguments
}

// guarded turns a panic of the schema library into an error: it panics on some
// schemas that nobody writes in good faith.
func guarded(err *error) {
	if p := recover(); p != nil {
		if v, ok := p.(verdict); ok {
			panic(v)
		}
		*err = fmt.Errorf("the schema cannot be judged by: %v", p)
	}
}

// judge is the first fault of a reply, against the output schema if there is one.
func judge(s exchange, output *jsonschema.Resolved) (err error) {
	defer guarded(&err)
	_, err = probe.Judge(probe.Modern, &jsonrpc.Response{Result: s.reply.Result}, output)
	return err
}

// output is the resolved output schema; nil where there is none.
func (tool *tool) output() (resolved *jsonschema.Resolved, err error) {
	defer guarded(&err)
	if len(tool.OutputSchema) == 0 || string(tool.OutputSchema) == "null" {
		return nil, nil
	}
	schema, err := probe.ReadSchema(tool.OutputSchema)
	if err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
}

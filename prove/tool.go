package prove

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mrtr-go/sdk/internal/wire"
)

// tool is a tool that the server lists, as far as the rules look at it.
type tool struct {
	Name         string          `json:"name"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		ReadOnlyHint bool `json:"readOnlyHint"`
	} `json:"annotations"`

	// input is the input schema; nil if it does not read, as inputErr says.
	input    *jsonschema.Schema
	inputErr error
	// output is the output schema; nil if there is none, or if it cannot be judged by,
	// as outputErr says.
	output    *jsonschema.Resolved
	outputErr error
}

// readSchemas reads the schemas that the tool lists. Nothing can be sent to a tool whose input
// schema does not read.
func (tool *tool) readSchemas() {
	tool.inputErr = func() (err error) {
		defer guarded(&err)
		tool.input, err = readSchema(tool.InputSchema)
		return err
	}()
	if len(tool.OutputSchema) == 0 || string(tool.OutputSchema) == "null" {
		return
	}
	tool.outputErr = func() (err error) {
		defer guarded(&err)
		schema, err := readSchema(tool.OutputSchema)
		if err == nil {
			tool.output, err = schema.Resolve(nil)
		}
		return err
	}()
}

// sample makes arguments that the input schema allows: the first of its examples, or
// every required property and no other.
func (tool *tool) sample() (map[string]any, error) {
	if len(tool.input.Examples) > 0 {
		if example, ok := tool.input.Examples[0].(map[string]any); ok {
			return maps.Clone(example), nil
		}
	}
	return sample(tool.input)
}

// listing is everything that tools/list says, page after page.
type listing struct {
	tools   []*tool
	broken  []error // the first entries that are no tools
	more    int     // how many such entries follow
	last    exchange
	err     error // why not all of it was read
	endless bool  // because it goes on for too long
}

const (
	maxPages  = 100
	maxTools  = 10_000
	maxBroken = 10
)

var errNull = errors.New("it is null")

// list reads tools/list, up to most tools.
func (t *trial) list(c *wire.Client, most int) (l listing) {
	cursor := ""
	seen := map[string]bool{}
	for range maxPages {
		if l.last = t.listPage(c, cursor); l.last.reply == nil || l.last.protocol() {
			l.err = fmt.Errorf("tools/list: %s", l.last.outline())
			return l
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(l.last.reply.Result, &page); err != nil {
			l.err = fmt.Errorf("tools/list does not read: %w", err)
			return l
		}
		for i, raw := range page.Tools {
			if len(l.tools) == most {
				l.err, l.endless = fmt.Errorf("it lists more than %d tools; the rest was not tried", most), true
				return l
			}
			l.add(i, raw)
		}
		if cursor = page.NextCursor; cursor == "" {
			return l
		}
		if seen[cursor] {
			l.err, l.endless = fmt.Errorf("the cursor %q comes again", cursor), true
			return l
		}
		seen[cursor] = true
	}
	l.err, l.endless = fmt.Errorf("it has no end after %d pages", maxPages), true
	return l
}

func (l *listing) add(i int, raw json.RawMessage) {
	var tool *tool
	err := json.Unmarshal(raw, &tool)
	switch {
	case err != nil:
	case tool == nil:
		err = errNull
	case tool.Name == "":
		err = errors.New("it has no name")
	default:
		l.tools = append(l.tools, tool)
		return
	}
	if len(l.broken) == maxBroken {
		l.more++
		return
	}
	l.broken = append(l.broken, fmt.Errorf("tools[%d] is no tool: %w", i, err))
}

func (t *trial) discover(c *wire.Client) exchange {
	return t.send(c, wire.Request{Method: "server/discover", Params: map[string]any{"_meta": c.Meta()}})
}

func (t *trial) listPage(c *wire.Client, cursor string) exchange {
	params := map[string]any{}
	if meta := c.Meta(); meta != nil {
		params["_meta"] = meta
	}
	if cursor != "" {
		params["cursor"] = cursor
	}
	return t.send(c, wire.Request{Method: "tools/list", Params: params})
}

// tools are those that the server lists, for a proof: it does not mind an entry that is
// null.
func (t *trial) tools(c *wire.Client) []*tool {
	l := t.list(c, maxTools)
	if l.err != nil && !l.endless {
		t.failAt(l.last, "%v", l.err)
	}
	for _, err := range l.broken {
		if !errors.Is(err, errNull) {
			t.fail("tools/list does not read: %v", err)
		}
	}
	return l.tools
}

func (t *trial) findTool(c *wire.Client) *tool {
	all := t.tools(c)
	for _, tool := range all {
		if tool.Name == t.scenario.Tool {
			tool.readSchemas()
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

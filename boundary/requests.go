package boundary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The requests that run no tool, prompt or resource still run code of the author's: that
// of a completion, a subscription, a custom method, SetCacheable, or whatever is encoded
// with a list or the server's capabilities.

// maxCompletions is how many values the specification allows in one answer.
const maxCompletions = 100

// completion makes the values of a completion plain. Those that are too many are left
// out, and the client is told so.
func (b *boundary) completion(_ *call, res *mcp.CompleteResult) (*mcp.CompleteResult, int, *failure) {
	made := &mcp.CompleteResult{Completion: res.Completion}
	d := &made.Completion
	d.Total = max(d.Total, 0)
	if all := len(d.Values); all > maxCompletions {
		d.HasMore, d.Total = true, max(d.Total, all)
	}
	d.Values = append([]string{}, d.Values[:min(len(d.Values), maxCompletions)]...) // never null
	var err error
	if made.Meta, err = plainMeta(res.Meta); err != nil {
		return nil, 0, malformed(err.Error())
	}
	size := metaSize(made.Meta)
	for _, value := range d.Values {
		size += escapedSize(value)
	}
	return made, size, nil
}

// otherwise makes the result of any other request plain.
func (b *boundary) otherwise(c *call, res mcp.Result) (mcp.Result, int, *failure) {
	made, err := b.plainResult(c, res)
	if err != nil {
		return nil, 0, malformed(err.Error())
	}
	return made, 0, nil // its size does not depend on what a handler made of the request
}

func (b *boundary) plainResult(c *call, res mcp.Result) (mcp.Result, error) {
	var err error
	switch r := res.(type) {
	case *mcp.ListToolsResult:
		made := *r
		made.Tools = listed(b, c, r.Tools, func(tool *mcp.Tool) (*mcp.Tool, error) { return b.listedTool(c, tool) })
		return &made, plainPage(&made.Meta, made.Cacheable)
	case *mcp.ListPromptsResult:
		made := *r
		made.Prompts = listed(b, c, r.Prompts, func(p *mcp.Prompt) (*mcp.Prompt, error) { return plain("prompt", p) })
		return &made, plainPage(&made.Meta, made.Cacheable)
	case *mcp.ListResourcesResult:
		made := *r
		made.Resources = listed(b, c, r.Resources, func(r *mcp.Resource) (*mcp.Resource, error) { return plain("resource", r) })
		return &made, plainPage(&made.Meta, made.Cacheable)
	case *mcp.ListResourceTemplatesResult:
		made := *r
		made.ResourceTemplates = listed(b, c, r.ResourceTemplates, func(r *mcp.ResourceTemplate) (*mcp.ResourceTemplate, error) { return plain("resource", r) })
		return &made, plainPage(&made.Meta, made.Cacheable)
	case *mcp.DiscoverResult:
		made := *r
		return &made, errors.Join(plainPage(&made.Meta, made.Cacheable), plainCapabilities(&made.Capabilities))
	case *mcp.InitializeResult:
		made := *r
		made.Meta, err = plainMeta(r.Meta)
		return &made, errors.Join(err, plainCapabilities(&made.Capabilities))
	case *mcp.SubscriptionsListenResult:
		made := *r
		made.Meta, err = plainMeta(r.Meta)
		return &made, err
	}
	return c.customResult(res)
}

// listed are the items of a list that the call's client gets. One that cannot be sent is
// left out and logged: a strict client would refuse the whole list for it.
func listed[T any](b *boundary, c *call, items []*T, settle func(*T) (*T, error)) []*T {
	made := make([]*T, 0, len(items)) // never null
	for i, item := range items {
		if item == nil {
			continue
		}
		own, err := recovering(func() (*T, error) { return settle(item) })
		if err != nil {
			b.sink.log(context.Background(), slog.LevelError, "the boundary leaves an item out of a list", slog.String("method", c.method()),
				slog.Int("item", i), slog.String("requestId", c.requestID), slog.String("cause", truncated(err.Error(), maxLoggedText)))
		} else if own != nil {
			made = append(made, own)
		}
	}
	return made
}

// recovering returns the panic of a function as an error.
func recovering[T any](f func() (T, error)) (made T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errors.New("panic: " + printed(v))
		}
	}()
	return f()
}

// listedTool is nil for a tool of a denied tier. It goes by the options alone, since the
// list must not vary by connection. Before revision 2026-07-28 an output schema describes
// an object, and a strict legacy client refuses a whole list of tools for one that does
// not, so such a schema is left out, as is the structured content of the tool's results.
func (b *boundary) listedTool(c *call, tool *mcp.Tool) (*mcp.Tool, error) {
	if b.denied(tool) {
		return nil, nil
	}
	made, err := b.catalog.define(tool).listed()
	if err != nil || !isLegacy(c.session) || made.OutputSchema == nil {
		return made, err
	}
	var schema struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(made.OutputSchema.(json.RawMessage), &schema) == nil && schema.Type == "object" {
		return made, nil
	}
	own := *made
	own.OutputSchema = nil
	return &own, nil
}

// plainPage makes plain what every list has beside its items.
func plainPage(meta *mcp.Meta, cacheable mcp.Cacheable) (err error) {
	*meta, err = plainMeta(*meta)
	return errors.Join(err, checkCacheable(cacheable))
}

func checkCacheable(c mcp.Cacheable) error {
	if c.CacheScope != "public" && c.CacheScope != "private" || c.TTLMs < 0 {
		return errors.New("a cacheScope that is neither public nor private, or a negative ttlMs")
	}
	return nil
}

func plainCapabilities(capabilities **mcp.ServerCapabilities) error {
	if *capabilities == nil {
		return errors.New("no capabilities")
	}
	made := **capabilities
	*capabilities = &made
	for _, values := range []*map[string]any{&made.Experimental, &made.Extensions} {
		plain, err := plainMeta(*values)
		if err != nil {
			return fmt.Errorf("capabilities: %w", err)
		}
		*values = plain
	}
	return nil
}

// customResult is the result of a method that go-sdk does not know, as JSON.
func (c *call) customResult(res mcp.Result) (mcp.Result, error) {
	raw, err := plainJSON(res)
	if err != nil {
		return nil, err
	}
	made := &settledResult{}
	if err := json.Unmarshal(raw, &made.members); err != nil || made.members == nil {
		return nil, errors.New("a result that is no object")
	}
	if len(made.members) == 0 && c.revision == legacy {
		return res, nil // go-sdk's own empty result, or one like it
	}
	var meta map[string]json.RawMessage
	if raw, ok := made.members["_meta"]; ok && json.Unmarshal(raw, &meta) != nil {
		return nil, errors.New("a _meta that is no object")
	}
	delete(made.members, "_meta")
	if made.members["resultType"] == nil && c.revision != legacy {
		made.members["resultType"] = json.RawMessage(`"complete"`)
	}
	if meta != nil {
		made.Meta = mcp.Meta{}
		for key, value := range meta {
			made.Meta[key] = value
		}
		made.Meta, err = plainMeta(made.Meta)
	}
	return made, err
}

// A passed result is of a resultType that the boundary does not know, such as a task. It
// goes outwards through the layers in place of an error, and the client gets it as it is.
type passed struct {
	res  mcp.Result
	data []byte // as JSON
}

func (*passed) Error() string { return "a result of another type" }

// passes returns nil for a result that has to be judged: one of a usual type or of none, and
// any for a legacy client, which knows no types.
func (c *call) passes(res mcp.Result) *passed {
	if c.revision == legacy || isNil(res) {
		return nil
	}
	made, err := c.customResult(res)
	settled, ok := made.(*settledResult)
	if err != nil || !ok {
		return nil
	}
	var name string
	if json.Unmarshal(settled.members["resultType"], &name) != nil || name == "" || name == "complete" || name == "input_required" {
		return nil
	}
	data, err := json.Marshal(settled)
	if err != nil {
		return nil
	}
	return &passed{settled, data}
}

// A settledResult is a result as JSON, with a _meta that go-sdk can write to.
type settledResult struct {
	mcp.ResultBase
	members map[string]json.RawMessage
}

func (s *settledResult) MarshalJSON() ([]byte, error) {
	members := maps.Clone(s.members)
	if len(s.Meta) > 0 {
		meta, err := json.Marshal(s.Meta)
		if err != nil {
			return nil, err
		}
		members["_meta"] = meta
	}
	return json.Marshal(members)
}

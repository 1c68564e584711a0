package boundary

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// arguments judges the arguments by the tool's own schema before go-sdk does.
// go-sdk reports one problem at a time, in varying order, and quotes the values.
func (b *boundary) arguments(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		def := c.definition()
		refused := def.refuse(c)
		if refused == nil {
			return next(ctx, c)
		}
		fresh := b.catalog.fresh(ctx, c)
		if fresh == nil {
			return next(ctx, c) // the tool was removed meanwhile, and go-sdk says so
		}
		c.define(fresh)
		if fresh != def {
			refused = fresh.refuse(c)
		}
		if refused != nil {
			return nil, refused
		}
		return next(ctx, c)
	}
}

// refuse returns everything that is wrong with the arguments of a request, or nil
// if the tool may have them.
func (d *definition) refuse(c *call) *Validation {
	if d == nil || d.input() == nil {
		return nil
	}
	if problems := d.input().problems(c.arguments, c.clientName); problems != nil {
		return &Validation{Fields: problems}
	}
	return nil
}

const maxClientName, maxClientVersion = 64, 32

// clientName is the client's own name for itself with its version, fit for display,
// or "". It is shown and decides nothing.
func (c *call) clientName() string {
	req, ok := c.req.(*mcp.CallToolRequest)
	if !ok || req.ClientInfo() == nil {
		return ""
	}
	info := req.ClientInfo()
	name := displayed(strings.TrimSpace(info.Name), maxClientName)
	if name == "" {
		return ""
	}
	return strings.TrimSpace(name + " " + displayed(strings.TrimSpace(info.Version), maxClientVersion))
}

// displayed cuts a text from outside to a length, and quotes it if it holds
// anything but letters, digits and simple punctuation.
func displayed(text string, most int) string {
	runes := []rune(text)
	cut := len(runes) > most
	if cut {
		runes = runes[:most]
	}
	if !consistsOf(string(runes), letters+digits+" -_./") {
		return fmt.Sprintf("%q", string(runes))
	}
	if cut {
		return string(runes) + "..."
	}
	return string(runes)
}

// misread reports whether go-sdk made the error when it decoded the call's arguments:
// of a time that is no string of the right form, or a number that the type cannot
// hold. A schema made from the type refuses neither. A tool that decodes something
// else may return such an error too, so this one must be of an argument.
func (c *call) misread(err *json.UnmarshalTypeError) bool {
	if phase, _ := c.state(); phase >= ran || err.Struct == "" {
		return false
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(c.arguments, &args) != nil {
		return false
	}
	name, _, _ := strings.Cut(err.Field, ".")
	_, sent := args[name]
	return sent
}

// demand describes the argument that a Go type wants, without naming the type.
func demand(t reflect.Type) string {
	if t == nil {
		return "has the wrong form"
	}
	if t == reflect.TypeFor[time.Time]() {
		return "must be a time such as 2006-01-02T15:04:05Z"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		last := int64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("must be an integer from %d to %d", -last-1, last)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("must be an integer from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	case reflect.Float32, reflect.Float64:
		return "must be a number that is not so large"
	}
	return "has the wrong form"
}

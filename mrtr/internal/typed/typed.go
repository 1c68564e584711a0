// Package typed makes a typed tool handler into a raw one, as mcp.AddTool does, and reads
// each call once.
//
// mcp.AddTool of go-sdk v1.8.0 decodes the arguments three times and the output twice, each
// time through a buffer of 32 KiB: four fifths of the bytes that a call over HTTP allocates.
// Here the usual arguments and the usual output are decoded from their bytes. Everything else
// (arguments that two readers may understand differently, values that break the schema,
// schemas with defaults) goes through mcp.AddTool itself, on a server that nobody connects
// to, so no refusal and no text is written twice. A test compares the two ways.
//
// The package can be deleted when go-sdk decodes from the bytes; see docs/go-sdk.md.
package typed

import (
	"context"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	segmentio "github.com/segmentio/encoding/json"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/shape"
	"github.com/mrtr-go/sdk/internal/stack"
)

// Handler is the tool with the schemas that mcp.AddTool gives it, and the handler that
// mcp.AddTool makes of h. It panics where that does.
func Handler[In, Out any](t *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) (*mcp.Tool, mcp.ToolHandler) {
	var stock stock[In, Out]
	described := stock.add(t, h)
	arguments := shapeOf(t.InputSchema, described.InputSchema, kind{reflect.TypeFor[In](), true})
	stock.mayDefault = arguments == nil
	if !decodesAlike(reflect.TypeFor[In](), nil) {
		arguments = nil
	}
	output := shapeOf(t.OutputSchema, described.OutputSchema, kind{reflect.TypeFor[Out](), false})
	usualOutput := described.OutputSchema == nil || output != nil
	return described, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		stack.Grow[[8 << 10]byte]() // go-sdk makes a goroutine for each request
		in, ok := read[In](arguments, req.Params.Arguments)
		if !ok {
			return stock.call(ctx, req, nil)
		}
		res, out, err := h(ctx, req, in)
		switch refusal, isRefusal := err.(*jsonrpc.Error); {
		case isRefusal: // itself, not one that it wraps
			return nil, refusal
		case err != nil:
			res := &mcp.CallToolResult{}
			res.SetError(err)
			return res, nil
		}
		if usualOutput {
			if res, ok := write(output, res, out); ok {
				return res, nil
			}
		}
		return stock.call(ctx, req, &outcome[Out]{res, out})
	}
}

// read decodes the usual arguments. It reports false for all others.
func read[In any](schema *shape.Shape, text json.RawMessage) (in In, ok bool) {
	if len(text) == 0 {
		text = json.RawMessage("{}") // as go-sdk takes arguments that are left out
	}
	if schema == nil || !usual(text) || !schema.Fits(text) {
		return in, false
	}
	if _, err := segmentio.Parse(text, &in, segmentio.DontMatchCaseInsensitiveStructFields); err != nil {
		var none In
		return none, false
	}
	return in, true
}

// write puts the usual output into the result. It reports false, and leaves the result
// alone, for all others.
func write[Out any](schema *shape.Shape, res *mcp.CallToolResult, out Out) (*mcp.CallToolResult, bool) {
	if res == nil {
		res = &mcp.CallToolResult{}
	}
	if res.InputRequests != nil {
		return res, true
	}
	switch v := reflect.ValueOf(&out).Elem(); {
	case v.Kind() == reflect.Interface && v.IsNil():
		return res, true
	case v.Kind() == reflect.Pointer && v.IsNil():
		return nil, false
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, false
	}
	if schema != nil {
		w := jsontext.Walk(text, maxDepth)
		value := w.Decode()
		object, isObject := value.(map[string]any)
		if !isObject || !w.End() || !schema.Fits(text) {
			return nil, false
		}
		if text, err = json.Marshal(object); err != nil { // as go-sdk spells it: names sorted
			return nil, false
		}
	} else if text[0] != '{' {
		return nil, false
	}
	res.StructuredContent = json.RawMessage(text)
	if res.Content == nil {
		res.Content = []mcp.Content{&mcp.TextContent{Text: string(text)}}
	}
	return res, true
}

// A kind of schema is the same for each tool.
type kind struct {
	of        reflect.Type
	arguments bool // go-sdk makes an object of an interface there
}

var shapesOfKinds sync.Map // kind to *shape.Shape

// shapeOf is the shape of the schema that is listed: compiled once for those that go-sdk
// derives from the type, and each time for those that the author gave.
func shapeOf(given, listed any, of kind) *shape.Shape {
	if given != nil {
		return compile(listed)
	}
	if known, ok := shapesOfKinds.Load(of); ok {
		return known.(*shape.Shape)
	}
	compiled := compile(listed)
	shapesOfKinds.Store(of, compiled)
	return compiled
}

// compile makes the schema one for [read] and [write]. It is nil if they cannot judge by it:
// there is none, or it has defaults, which change the value.
func compile(schema any) *shape.Shape {
	compiled, err := shape.Compile(schema)
	if err != nil || compiled.HasDefaults() {
		return nil
	}
	return compiled
}

// maxDepth bounds the values that are decoded here.
const maxDepth = 64

// maxDigits is how many digits a number may have that a float64 holds exactly.
const maxDigits = 15

// usual decodes arguments that mean the same whether they are decoded from their own bytes,
// or first into a map and then from the text that encoding/json makes of that, as go-sdk
// does. They are an object in which no name stands twice, no name has an escape and no number
// is one that a float64 rounds.
func usual(text json.RawMessage) bool {
	w := jsontext.Walk(text, maxDepth).Plain()
	return w.Kind() == '{' && usualValue(w) && w.End()
}

func usualValue(w *jsontext.Walker) (ok bool) {
	ok = true
	switch w.Kind() {
	case '{':
		var names jsontext.NameSet
		for name := range w.Members {
			ok = names.Add(name) && usualValue(w) && ok
		}
	case '[':
		for range w.Elements {
			ok = usualValue(w) && ok
		}
	case '"', 't', 'f', 'n':
		w.Value()
	default:
		number := w.Value()
		_, err := strconv.ParseFloat(string(number), 64)
		return err == nil && len(number) <= maxDigits
	}
	return ok
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	numberText      = reflect.TypeFor[json.Number]()
)

// decodesAlike reports whether the value of a type depends on what its text means, and not
// on how it is spelled. Types with a decoder of their own see the spelling, and a json.Number
// is it. above are the types that t is a part of.
func decodesAlike(t reflect.Type, above []reflect.Type) bool {
	if slices.Contains(above, t) {
		return true
	}
	if t == numberText || t.Kind() != reflect.Interface && (reflect.PointerTo(t).Implements(jsonUnmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler)) {
		return false
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return true
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return decodesAlike(t.Elem(), above)
	case reflect.Map:
		return t.Key().Kind() == reflect.String && decodesAlike(t.Key(), above) && decodesAlike(t.Elem(), above)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && !decodesAlike(f.Type, above) {
				return false
			}
		}
		return true
	}
	return false
}

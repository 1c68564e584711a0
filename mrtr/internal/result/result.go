// Package result completes the output of a handler, and writes it down so that each request gets the
// same result.
package result

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/internal/failure"
)

// An output may say its own text, have content of its own behind that, such as images, and the _meta
// of its result. Its structured output stands beside them.
type (
	texter          interface{ Text() string }
	contentProvider interface{ Content() []mcp.Content }
	metaProvider    interface{ Meta() mcp.Meta }
)

// Result is the output of a handler, and for a typed tool the content and _meta that the output makes
// itself.
type Result[Out any] struct {
	Out Out
	Own *mcp.CallToolResult
}

// Format says how a kind of result is completed and remembered.
type Format[Out any] interface {
	Complete(r *Result[Out]) error
	Save(r *Result[Out]) (json.RawMessage, error)
	Load(saved json.RawMessage) (Result[Out], error)
}

// Saver is [Format.Save] without the type.
func Saver[Out any](f Format[Out]) func(any) (json.RawMessage, error) {
	return func(value any) (json.RawMessage, error) { return f.Save(value.(*Result[Out])) }
}

// Loader is [Format.Load] without the type.
func Loader[Out any](f Format[Out]) func(json.RawMessage) (any, error) {
	return func(saved json.RawMessage) (any, error) {
		r, err := f.Load(saved)
		return &r, err
	}
}

// decodeExactly decodes JSON and keeps the digits of numbers that have no type.
func decodeExactly[T any](b []byte) (v T, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// typed is the format of a typed tool.
type typed[Out any] struct {
	hasOwnContent bool // the output may have text, content or _meta of its own
}

// Typed is the format of a typed tool.
func Typed[Out any]() Format[Out] { return typed[Out]{hasOwnContent[Out]()} }

func (f typed[Out]) Complete(r *Result[Out]) (err error) {
	if f.hasOwnContent {
		r.Own, err = ownResult(&r.Out)
	}
	return err
}

func (typed[Out]) Save(r *Result[Out]) (json.RawMessage, error) {
	out, err := json.Marshal(&r.Out)
	if err != nil {
		return nil, err
	}
	var own json.RawMessage
	if r.Own != nil {
		if own, err = json.Marshal(r.Own); err != nil {
			return nil, err
		}
	}
	w := jsontext.Begin(make([]byte, 0, len(out)+len(own)+64), "v", version)
	w.Raw("own", own)
	w.Raw("out", out)
	return w.End(), nil
}

func (typed[Out]) Load(saved json.RawMessage) (r Result[Out], err error) {
	in, _ := jsontext.Open(saved, "v")
	own, out := in.Raw("own"), in.Raw("out")
	if own != nil {
		if r.Own, err = decodeResult(own); err != nil {
			return r, err
		}
		if r.Own != nil && len(r.Own.Content) == 0 {
			r.Own.Content = nil // go-sdk fills in that of the output
		}
	}
	r.Out, err = decodeExactly[Out](out)
	return r, err
}

// hasOwnContent reports whether an output can have text, content or _meta of its own.
func hasOwnContent[Out any]() bool {
	t := reflect.TypeFor[Out]()
	if t.Kind() == reflect.Interface { // its values decide
		return true
	}
	for _, way := range []reflect.Type{reflect.TypeFor[texter](), reflect.TypeFor[contentProvider](), reflect.TypeFor[metaProvider]()} {
		if t.Implements(way) || reflect.PointerTo(t).Implements(way) {
			return true
		}
	}
	return false
}

// ownResult holds the text, content and _meta of an output that has any; else it is nil, and
// go-sdk makes the content from the structured output.
func ownResult[Out any](out *Out) (*mcp.CallToolResult, error) {
	says, speaks := provider[texter](out)
	contents, shows := provider[contentProvider](out)
	meta, annotates := provider[metaProvider](out)
	if !speaks && !shows && !annotates {
		return nil, nil
	}
	res := &mcp.CallToolResult{}
	if speaks {
		res.Content = []mcp.Content{&mcp.TextContent{Text: says.Text()}}
	}
	if shows {
		for _, content := range contents.Content() {
			if v := reflect.ValueOf(content); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
				return nil, usage.New("mrtr", "the content of a %T has an element that is nil", *out)
			}
			res.Content = append(res.Content, content)
		}
	}
	if annotates {
		res.Meta = maps.Clone(meta.Meta()) // go-sdk writes to it
	}
	return res, nil
}

// provider is the output as an interface that it implements. The method may be that of the
// output's pointer, which has those of the output too, unless that is a pointer or an interface
// itself.
func provider[I, Out any](out *Out) (_ I, ok bool) {
	if own, ok := any(out).(I); ok {
		return own, true
	}
	switch reflect.TypeFor[Out]().Kind() {
	case reflect.Pointer, reflect.Interface:
		own, ok := any(*out).(I)
		return own, ok
	}
	var none I
	return none, false
}

// refuseQuestions refuses a whole result that asks: that of another server, as a gateway gets
// it. Its questions would reach the client with a state that does not open here.
func refuseQuestions(whole any) error {
	asks := false
	switch res := whole.(type) {
	case *mcp.CallToolResult:
		asks = res != nil && (res.NeedsInput() || res.InputRequests != nil || res.RequestState != "")
	case *mcp.GetPromptResult:
		asks = res != nil && (res.NeedsInput() || res.InputRequests != nil || res.RequestState != "")
	case *mcp.ReadResourceResult:
		asks = res != nil && (res.NeedsInput() || res.InputRequests != nil || res.RequestState != "")
	}
	if asks {
		return usage.New("mrtr", "the handler returned a result with questions or a state, such as that of another server: ask its questions with Need")
	}
	return nil
}

// Whole is the format of a prompt or resource, whose handler makes the whole result.
type Whole[R any] struct{}

func (Whole[R]) Complete(r *Result[*R]) error { return refuseQuestions(r.Out) }

func (Whole[R]) Save(r *Result[*R]) (json.RawMessage, error) { return json.Marshal(r.Out) }

func (Whole[R]) Load(saved json.RawMessage) (r Result[*R], err error) {
	r.Out, err = decodeExactly[*R](saved)
	return r, err
}

// Raw is the format of a raw tool. The result may carry an error, which layers outside look at.
type Raw struct{}

func (Raw) Complete(r *Result[*mcp.CallToolResult]) error { return refuseQuestions(r.Out) }

func (Raw) Save(r *Result[*mcp.CallToolResult]) (json.RawMessage, error) {
	saved, err := json.Marshal(r.Out)
	if err != nil {
		return nil, err
	}
	w := jsontext.Begin(make([]byte, 0, len(saved)+64), "v", version)
	if r.Out != nil && r.Out.GetError() != nil {
		w.Raw("error", failure.Of(r.Out.GetError()).Encode())
	}
	w.Raw("out", saved)
	return w.End(), nil
}

func (Raw) Load(saved json.RawMessage) (r Result[*mcp.CallToolResult], err error) {
	in, _ := jsontext.Open(saved, "v")
	failed := in.Raw("error")
	if r.Out, err = decodeResult(in.Raw("out")); err != nil || failed == nil {
		return r, err
	}
	f, err := failure.Read(failed)
	if err != nil {
		return r, err
	}
	r.Out.SetError(f.Err())
	return r, nil
}

// decodeResult keeps the structured content and the metadata as they were written.
func decodeResult(b []byte) (*mcp.CallToolResult, error) {
	if len(b) == 0 || string(b) == "null" {
		return nil, nil
	}
	res := &mcp.CallToolResult{}
	if err := json.Unmarshal(b, res); err != nil {
		return nil, err
	}
	var raw struct {
		Structured json.RawMessage            `json:"structuredContent"`
		Meta       map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	if raw.Structured != nil {
		res.StructuredContent = raw.Structured
	}
	for key, value := range raw.Meta {
		res.Meta[key] = value
	}
	return res, nil
}

// version is that of a saved result's encoding.
const version = 2

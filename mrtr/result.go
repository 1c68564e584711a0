package mrtr

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/mrtr/internal/failure"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/keep"
)

// An output may say its own text, have content of its own behind that, such as images, and the _meta
// of its result. Its structured output stands beside them.
type (
	texter          interface{ Text() string }
	contentProvider interface{ Content() []mcp.Content }
	metaProvider    interface{ Meta() mcp.Meta }
)

// result is the result of a call: the output of a handler, and for a typed tool the content
// and _meta that the output makes itself.
type result[Out any] struct {
	out Out
	own *mcp.CallToolResult
}

// resultFormat is how a kind of result is completed and remembered.
type resultFormat[Out any] interface {
	complete(r *result[Out]) error
	save(r *result[Out]) (json.RawMessage, error)
	load(saved json.RawMessage) (result[Out], error)
}

func saver[Out any](f resultFormat[Out]) func(any) (json.RawMessage, error) {
	return func(value any) (json.RawMessage, error) { return f.save(value.(*result[Out])) }
}

func loader[Out any](f resultFormat[Out]) func(json.RawMessage) (any, error) {
	return func(saved json.RawMessage) (any, error) {
		r, err := f.load(saved)
		return &r, err
	}
}

// stopper makes the outcome of a call that was stopped with an output.
func stopper[Out any](f resultFormat[Out]) func(any) keep.Outcome {
	return func(out any) keep.Outcome {
		own, ok := out.(Out)
		if !ok {
			return keep.Outcome{Err: misuse("Stop has a %T, and the handler's output is a %s", out, reflect.TypeFor[Out]())}
		}
		r := &result[Out]{out: own}
		if err := guard(func() error { return f.complete(r) }); err != nil {
			return keep.Outcome{Err: safeError(err)}
		}
		return keep.Outcome{Value: r, Stopped: true}
	}
}

// decodeExactly decodes JSON and keeps the digits of numbers that have no type.
func decodeExactly[T any](b []byte) (v T, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// typedFormat is that of a typed tool.
type typedFormat[Out any] struct {
	hasOwnContent bool // the output may have text, content or _meta of its own
}

func (f typedFormat[Out]) complete(r *result[Out]) (err error) {
	if f.hasOwnContent {
		r.own, err = ownResult(&r.out)
	}
	return err
}

func (typedFormat[Out]) save(r *result[Out]) (json.RawMessage, error) {
	out, err := json.Marshal(&r.out)
	if err != nil {
		return nil, err
	}
	var own json.RawMessage
	if r.own != nil {
		if own, err = json.Marshal(r.own); err != nil {
			return nil, err
		}
	}
	w := jsontext.Begin(make([]byte, 0, len(out)+len(own)+64), "v", recordFormat)
	w.Raw("own", own)
	w.Raw("out", out)
	return w.End(), nil
}

func (typedFormat[Out]) load(saved json.RawMessage) (r result[Out], err error) {
	in, _ := jsontext.Open(saved, "v")
	own, out := in.Raw("own"), in.Raw("out")
	if own != nil {
		if r.own, err = decodeResult(own); err != nil {
			return r, err
		}
		if r.own != nil && len(r.own.Content) == 0 {
			r.own.Content = nil // go-sdk fills in that of the output
		}
	}
	r.out, err = decodeExactly[Out](out)
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
				return nil, misuse("the content of a %T has an element that is nil", *out)
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
		return misuse("the handler returned a result with questions or a state, such as that of another server: ask its questions with Need")
	}
	return nil
}

// wholeFormat is that of a prompt or resource, whose handler makes the whole result.
type wholeFormat[R any] struct{}

func (wholeFormat[R]) complete(r *result[*R]) error { return refuseQuestions(r.out) }

func (wholeFormat[R]) save(r *result[*R]) (json.RawMessage, error) { return json.Marshal(r.out) }

func (wholeFormat[R]) load(saved json.RawMessage) (r result[*R], err error) {
	r.out, err = decodeExactly[*R](saved)
	return r, err
}

// rawFormat is that of a raw tool. The result may carry an error, which layers outside look at.
type rawFormat struct{}

func (rawFormat) complete(r *result[*mcp.CallToolResult]) error { return refuseQuestions(r.out) }

func (rawFormat) save(r *result[*mcp.CallToolResult]) (json.RawMessage, error) {
	saved, err := json.Marshal(r.out)
	if err != nil {
		return nil, err
	}
	w := jsontext.Begin(make([]byte, 0, len(saved)+64), "v", recordFormat)
	if r.out != nil && r.out.GetError() != nil {
		w.Raw("error", failure.Of(r.out.GetError()).Encode())
	}
	w.Raw("out", saved)
	return w.End(), nil
}

func (rawFormat) load(saved json.RawMessage) (r result[*mcp.CallToolResult], err error) {
	in, _ := jsontext.Open(saved, "v")
	failed := in.Raw("error")
	if r.out, err = decodeResult(in.Raw("out")); err != nil || failed == nil {
		return r, err
	}
	f, err := failure.Read(failed)
	if err != nil {
		return r, err
	}
	r.out.SetError(f.Err())
	return r, nil
}

// decodeResult keeps the structured content and the metadata as they were written.
func decodeResult(b []byte) (*mcp.CallToolResult, error) {
	if question.IsNull(b) {
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

// recordFormat is the version of an outcome's encoding.
const recordFormat = 2

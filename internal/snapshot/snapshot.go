// Package snapshot copies a handler's input, for code that enters a handler more
// than once with it: no entry may see the changes that another one made.
package snapshot

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Of copies a value as deep as JSON can fill it: exported fields, elements, map
// entries, and the values behind pointers and interfaces. A struct that keeps
// references in unexported fields and decodes itself from JSON, such as
// [math/big.Int], is copied by encoding and decoding it. Other unexported fields
// are copied as they are.
//
// It is no substitute to decode the raw arguments again for each entry: go-sdk
// fills in the defaults of the tool's schema while it decodes, and the raw
// arguments lack them.
func Of[T any](v T) T {
	if !Shares(reflect.TypeFor[T]()) {
		return v
	}
	var out T
	c := copier{}
	c.copy(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&v).Elem())
	return out
}

// Shares reports whether an assigned copy of a value of type t can share memory
// with the original, so that it takes [Of] to separate them.
func Shares(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if Shares(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return Shares(t.Elem())
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return true
	}
	return false
}

// copier remembers the pointers it has copied, so that a value that points to
// itself ends, and one that is pointed to twice stays one.
type copier struct{ seen map[any]reflect.Value }

func (c *copier) copy(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.Pointer:
		c.pointer(dst, src)
	case reflect.Interface:
		if src.IsNil() {
			return
		}
		e := reflect.New(src.Elem().Type()).Elem()
		c.copy(e, src.Elem())
		dst.Set(e)
	case reflect.Slice:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
		c.elements(dst, src)
	case reflect.Array:
		c.elements(dst, src)
	case reflect.Map:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
		for it := src.MapRange(); it.Next(); {
			e := reflect.New(src.Type().Elem()).Elem()
			c.copy(e, it.Value())
			dst.SetMapIndex(it.Key(), e)
		}
	case reflect.Struct:
		if hidesReferences(src.Type()) && recode(dst, src) {
			return
		}
		dst.Set(src)
		c.fields(dst, src)
	default:
		dst.Set(src)
	}
}

func (c *copier) pointer(dst, src reflect.Value) {
	if src.IsNil() {
		return
	}
	id := src.Interface()
	if done, ok := c.seen[id]; ok {
		dst.Set(done)
		return
	}
	p := reflect.New(src.Type().Elem())
	if c.seen == nil {
		c.seen = map[any]reflect.Value{}
	}
	c.seen[id] = p.Convert(src.Type())
	c.copy(p.Elem(), src.Elem())
	dst.Set(c.seen[id])
}

func (c *copier) elements(dst, src reflect.Value) {
	if !Shares(src.Type().Elem()) { // such as the bytes of a message
		reflect.Copy(dst, src)
		return
	}
	for i := range src.Len() {
		c.copy(dst.Index(i), src.Index(i))
	}
}

func (c *copier) fields(dst, src reflect.Value) {
	for i := range src.NumField() {
		field := src.Type().Field(i)
		switch {
		case field.IsExported():
			c.copy(dst.Field(i), src.Field(i))
		case field.Anonymous && field.Type.Kind() == reflect.Struct:
			// Its own exported fields are filled by JSON and can be set.
			c.fields(dst.Field(i), src.Field(i))
		}
	}
}

// hidesReferences reports whether copying a struct field by field leaves memory
// shared that its own methods can change. A [time.Time] hides its location, which
// nothing changes.
func hidesReferences(t reflect.Type) bool {
	if t == reflect.TypeFor[time.Time]() {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); !f.IsExported() && Shares(f.Type) {
			return true
		}
	}
	return false
}

// recode copies a struct through JSON, if its type has methods for both ways.
// A value that does not survive this is left to be copied as it is.
func recode(dst, src reflect.Value) bool {
	p := reflect.New(src.Type())
	switch p.Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
	default:
		return false
	}
	original := reflect.New(src.Type())
	original.Elem().Set(src)
	switch original.Interface().(type) {
	case json.Marshaler, encoding.TextMarshaler:
	default:
		return false
	}
	text, err := json.Marshal(original.Interface())
	if err != nil || json.Unmarshal(text, p.Interface()) != nil {
		return false
	}
	dst.Set(p.Elem())
	return true
}

// Result copies the parts of a handler's result that go-sdk writes to before it sends
// the result: the type of the result, its _meta, the structured content and the text of
// it, and the addresses of a resource's contents. A handler may return one result to
// several calls at once.
func Result[R mcp.Result](res R) R {
	var own mcp.Result
	switch r := any(res).(type) {
	case *mcp.CallToolResult:
		if r == nil {
			return res
		}
		made := *r
		made.Meta, made.Content = maps.Clone(r.Meta), slices.Clip(r.Content)
		own = &made
	case *mcp.GetPromptResult:
		if r == nil {
			return res
		}
		made := *r
		made.Meta = maps.Clone(r.Meta)
		own = &made
	case *mcp.ReadResourceResult:
		if r == nil {
			return res
		}
		made := *r
		made.Meta, made.Contents = maps.Clone(r.Meta), slices.Clone(r.Contents)
		for i, contents := range made.Contents {
			if contents != nil {
				c := *contents
				made.Contents[i] = &c
			}
		}
		own = &made
	default:
		return res
	}
	return own.(R)
}

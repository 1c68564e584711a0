package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// failure is a journal's record of the error or the panic of an effect. The author
// gets the error that meet makes of it, when the effect fails and when it is replayed:
// so that the code takes the same way both times.
type failure struct {
	Text  string      `json:"text"`
	Panic bool        `json:"panic,omitempty"`
	Is    []string    `json:"is,omitempty"` // the identities of the errors in the chain
	As    []typedFact `json:"as,omitempty"` // those whose type survives a round trip
	facts
}

// typedFact is an error of the chain as JSON.
type typedFact struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// maxChain bounds the errors of a chain that are looked at: a chain may be endless.
const maxChain = 32

// failureOf is the failure as it is read back, so that a text which JSON cannot carry is
// the same the first time.
func failureOf(err error) *failure {
	f := described(err)
	if back, err := readFailure(f.encode()); err == nil {
		return back
	}
	return f
}

func described(err error) *failure {
	p, ok := err.(*PanicError)
	if !ok {
		return describedError(err)
	}
	if err, ok = p.Value.(error); !ok {
		return &failure{Text: fmt.Sprint(p.Value), Panic: true}
	}
	f := describedError(err)
	f.Panic = true
	return f
}

// describedError is the failure of an error that is no panic, or is to be met as an
// error.
func describedError(err error) *failure {
	f := &failure{Text: err.Error()}
	f.walk(err, new(int))
	for _, sentinel := range []error{
		context.Canceled, context.DeadlineExceeded,
		fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrClosed,
	} {
		if id := identity(sentinel); errors.Is(err, sentinel) && !slices.Contains(f.Is, id) {
			f.Is = append(f.Is, id)
		}
	}
	f.facts = factsOf(err)
	return f
}

func (f *failure) walk(err error, seen *int) {
	if *seen++; err == nil || *seen > maxChain {
		return
	}
	f.Is = append(f.Is, identity(err))
	if value, ok := roundTrip(err); ok {
		f.As = append(f.As, typedFact{typeName(reflect.TypeOf(err)), value})
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		f.walk(e.Unwrap(), seen)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			f.walk(inner, seen)
		}
	}
}

// identity stands for the errors of one type and text.
func identity(err error) string {
	return shortDigest([]byte(typeName(reflect.TypeOf(err)) + "\x00" + err.Error()))
}

func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		return "*" + typeName(t.Elem())
	}
	return t.PkgPath() + "." + t.Name()
}

// roundTrip encodes an error whose type can be read back with the same text.
func roundTrip(err error) (value json.RawMessage, ok bool) {
	defer func() {
		if recover() != nil { // of the author's methods
			ok = false
		}
	}()
	if usage, is := err.(*UsageError); is {
		value, _ = json.Marshal(usage.message)
		return value, true
	}
	value, e := json.Marshal(err)
	if e != nil {
		return nil, false
	}
	back, ok := readBack(value, reflect.TypeOf(err))
	return value, ok && back.Interface().(error).Error() == err.Error()
}

// readBack reads an error of type t. It is false where the type cannot be read.
func readBack(value json.RawMessage, t reflect.Type) (v reflect.Value, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	if t == reflect.TypeFor[*UsageError]() {
		message, err := readJSON[string](value)
		return reflect.ValueOf(&UsageError{message: message}), err == nil
	}
	into := reflect.New(t)
	if json.Unmarshal(value, into.Interface()) != nil || t.Kind() == reflect.Pointer && into.Elem().IsNil() {
		return v, false
	}
	return into.Elem(), true
}

func (f *failure) encode() json.RawMessage {
	value, err := json.Marshal(f)
	if err != nil { // a method gave what JSON cannot carry
		value, _ = json.Marshal(&failure{Text: f.Text, Panic: f.Panic})
	}
	return value
}

// readFailure reads encode's text, or the bare text of an error in a state of before.
func readFailure(value json.RawMessage) (*failure, error) {
	if text, err := readJSON[string](value); err == nil {
		return &failure{Text: text}, nil
	}
	return readJSON[*failure](value)
}

// meet returns the error, or panics where it was a panic.
func (f *failure) meet() error {
	if f.Panic {
		panic(&PanicError{Value: f.value(f.Text)})
	}
	return f.error()
}

// error is the error. One that go-sdk knows by its type is that type.
func (f *failure) error() error {
	if len(f.As) > 0 && len(f.Is) > 0 {
		for _, t := range []reflect.Type{reflect.TypeFor[*jsonrpc.Error](), reflect.TypeFor[*UsageError]()} {
			if f.As[0].Type != typeName(t) {
				continue
			}
			if v, ok := readBack(f.As[0].Value, t); ok && identity(v.Interface().(error)) == f.Is[0] {
				return v.Interface().(error)
			}
		}
	}
	return &effectError{f}
}

// value is that of a panic: an error, or its text.
func (f *failure) value(v any) any {
	if len(f.Is) > 0 {
		return &effectError{f}
	}
	if _, ok := v.(string); ok {
		return v
	}
	return f.Text
}

// effectError is the error of an effect, see [Once].
type effectError struct{ failure *failure }

func (e *effectError) Error() string { return e.failure.Text }

// Is compares by type and text.
func (e *effectError) Is(target error) bool {
	return slices.Contains(e.failure.Is, identity(target))
}

// As finds an error of the chain by its type, and the methods by which the error
// describes itself.
func (e *effectError) As(target any) bool {
	into := reflect.ValueOf(target).Elem()
	if into.Kind() == reflect.Interface {
		for _, fact := range e.failure.described(e) {
			if v := reflect.ValueOf(fact); v.Type().AssignableTo(into.Type()) {
				into.Set(v)
				return true
			}
		}
		return false
	}
	name := typeName(into.Type())
	for _, typed := range e.failure.As {
		if typed.Type != name {
			continue
		}
		if v, ok := readBack(typed.Value, into.Type()); ok {
			into.Set(v)
			return true
		}
	}
	return false
}

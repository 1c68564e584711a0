// Package failure records errors and panics as JSON, so that a program which meets one
// again, in another process too, takes the same way as the first time.
package failure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"reflect"
	"slices"
	"syscall"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
)

// Failure is the record of an error or of a panic.
type Failure struct {
	Text  string      `json:"text"`
	Panic bool        `json:"panic,omitempty"`
	Is    []string    `json:"is,omitempty"` // the identities of the errors in the chain
	As    []typedFact `json:"as,omitempty"` // those whose type survives a round trip
	// Reading says which text is for a client; nil where the error's own is.
	Reading *callerror.Reading `json:"reading,omitempty"`
	facts
}

// typedFact is an error of the chain as JSON.
type typedFact struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// maxChain bounds the errors of a chain that are looked at: a chain may be endless.
const maxChain = 32

// Of is the failure of an error, without the mark of [NotDone].
func Of(err error) *Failure {
	if known, ok := err.(*notDone); ok {
		err = known.error
	}
	f := &Failure{Text: err.Error()}
	walk(err, new(int), func(err error) {
		f.Is = append(f.Is, identity(err))
		if value, ok := roundTrip(err); ok {
			f.As = append(f.As, typedFact{typeName(reflect.TypeOf(err)), value})
		}
	})
	for _, sentinel := range []error{
		context.Canceled, context.DeadlineExceeded,
		fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrClosed,
	} {
		if id := identity(sentinel); errors.Is(err, sentinel) && !slices.Contains(f.Is, id) {
			f.Is = append(f.Is, id)
		}
	}
	f.facts = factsOf(err)
	if r := callerror.ReadingOf(err); r.Found {
		f.Reading = &r
	}
	return f
}

// OfPanic is the failure of code that panicked with a value.
func OfPanic(value any) *Failure {
	err, ok := value.(error)
	if !ok {
		return &Failure{Text: fmt.Sprint(value), Panic: true}
	}
	f := Of(err)
	f.Panic = true
	return f
}

// ReadBack is the failure as Read returns it, so that a text which JSON cannot carry is
// the same the first time.
func (f *Failure) ReadBack() *Failure {
	if back, err := Read(f.Encode()); err == nil {
		return back
	}
	return f
}

// walk visits the errors of a chain.
func walk(err error, seen *int, visit func(error)) {
	if *seen++; *seen > maxChain {
		return
	}
	visit(err)
	for _, inner := range callerror.Unwrapped(err) {
		walk(inner, seen, visit)
	}
}

// identity stands for the errors of one type and text.
func identity(err error) string {
	return digest.Short([]byte(typeName(reflect.TypeOf(err)) + "\x00" + err.Error()))
}

func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		return "*" + typeName(t.Elem())
	}
	return t.PkgPath() + "." + t.Name()
}

// kept are the types of errors that come back as themselves.
var kept = map[reflect.Type]keptType{}

type keptType struct {
	encode func(error) json.RawMessage
	decode func(json.RawMessage) (error, bool)
}

// Keep lets errors of type E come back as an E, and not as an error that resembles it.
// Without functions to encode and to decode it, E survives a round trip through JSON as
// any other error. Keep is called while the program initializes.
func Keep[E error](encode func(E) json.RawMessage, decode func(json.RawMessage) (E, bool)) {
	var own keptType
	if encode != nil {
		own.encode = func(err error) json.RawMessage { return encode(err.(E)) }
		own.decode = func(value json.RawMessage) (error, bool) { return decode(value) }
	}
	kept[reflect.TypeFor[E]()] = own
}

// roundTrip encodes an error whose type can be read back with the same text.
func roundTrip(err error) (value json.RawMessage, ok bool) {
	defer func() {
		if recover() != nil { // of the author's methods
			ok = false
		}
	}()
	if own := kept[reflect.TypeOf(err)]; own.encode != nil {
		return own.encode(err), true
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
	if own := kept[t]; own.decode != nil {
		err, ok := own.decode(value)
		return reflect.ValueOf(err), ok
	}
	into := reflect.New(t)
	if json.Unmarshal(value, into.Interface()) != nil || t.Kind() == reflect.Pointer && into.Elem().IsNil() {
		return v, false
	}
	return into.Elem(), true
}

// Encode is the failure as JSON.
func (f *Failure) Encode() json.RawMessage {
	value, err := json.Marshal(f)
	if err != nil { // a method gave what JSON cannot carry
		value, _ = json.Marshal(&Failure{Text: f.Text, Panic: f.Panic})
	}
	return value
}

// Read reads Encode's text.
func Read(value json.RawMessage) (*Failure, error) {
	var f *Failure
	err := json.Unmarshal(value, &f)
	return f, err
}

// Err is the error, also of a failure that was a panic. One of a type that comes back as
// itself is of that type.
func (f *Failure) Err() error {
	if len(f.As) > 0 && len(f.Is) > 0 {
		for t := range kept {
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

// PanicValue is the value of a panic: an error, or v where that is a text, or its text.
func (f *Failure) PanicValue(v any) any {
	if len(f.Is) > 0 {
		return &effectError{f}
	}
	if _, ok := v.(string); ok {
		return v
	}
	return f.Text
}

// effectError is an error that was recorded.
type effectError struct{ failure *Failure }

func (e *effectError) Error() string { return e.failure.Text }

// DependencyReading implements [callerror.Reader].
func (e *effectError) DependencyReading() callerror.Reading {
	f := e.failure
	if f.Reading != nil {
		return *f.Reading
	}
	return callerror.Reading{Typed: f.Type != nil || f.Expected != nil || f.Quiet != nil || f.Protocol != nil, Says: f.Text}
}

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

// endsInDoubt are the errors after which the other side may have done its work.
var endsInDoubt = []error{
	context.DeadlineExceeded, context.Canceled,
	io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE,
}

// InDoubt reports whether an error of an effect leaves open whether the effect happened: its
// time ran out, it was cancelled, its connection ended after the request may have been sent,
// or the error says so itself, as indeterminate does, or a server's that lost the call. ctx is
// that of the effect.
func InDoubt(ctx context.Context, err, indeterminate error) bool {
	if known := (*notDone)(nil); errors.As(err, &known) {
		return false
	}
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return false // nothing was sent
	}
	var timeout interface{ Timeout() bool }
	effect := report.EffectOf(err)
	return ctx.Err() != nil || errors.Is(err, indeterminate) ||
		slices.ContainsFunc(endsInDoubt, func(end error) bool { return errors.Is(err, end) }) ||
		errors.As(err, &timeout) && timeout.Timeout() || callerror.LeavesOpen(err) ||
		effect != "" && effect != report.Undone
}

// NotDone marks an error after which the effect has not happened and will not.
func NotDone(err error) error {
	if err == nil {
		return nil
	}
	return &notDone{err}
}

type notDone struct{ error }

func (e *notDone) Unwrap() error { return e.error }

// Package weight estimates the memory that a decoded value takes.
package weight

import (
	"reflect"
	"unsafe"
)

// Of estimates, from above, the memory of a value that was decoded from JSON, which can
// be many times that of its text. It stops at limit, so that nothing takes longer to
// weigh than it takes to exceed the limit.
func Of[In any](in *In, limit int) int {
	s := scale{left: limit}
	s.put(int(unsafe.Sizeof(*in)))
	s.behind(reflect.ValueOf(in).Elem(), 0)
	return limit - s.left
}

// scale counts a limit down. It is below zero once the limit is exceeded.
type scale struct{ left int }

// maxNesting bounds the depth to which an input is weighed. go-sdk decodes a thousand
// levels of JSON, each of which is a value or two of Go.
const maxNesting = 3000

// put weighs one allocation, which Go makes a little larger than it is asked for.
func (s *scale) put(bytes int) {
	if bytes > 1024 {
		bytes += bytes / 8
	}
	s.left -= (bytes + 15) &^ 15
}

// behind weighs the memory that a value refers to, without the value itself.
func (s *scale) behind(v reflect.Value, depth int) {
	if s.left < 0 || depth > maxNesting {
		return
	}
	switch v.Kind() {
	case reflect.String:
		s.put(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			s.put(int(v.Elem().Type().Size()))
			s.behind(v.Elem(), depth+1)
		}
	case reflect.Slice:
		s.put(v.Cap() * int(v.Type().Elem().Size()))
		s.elements(v, depth)
	case reflect.Array:
		s.elements(v, depth)
	case reflect.Map:
		s.entries(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			s.field(v.Type().Field(i), v.Field(i), depth)
		}
	}
}

func (s *scale) elements(v reflect.Value, depth int) {
	if !refers(v.Type().Elem()) {
		return
	}
	for i := 0; i < v.Len() && s.left >= 0; i++ {
		s.behind(v.Index(i), depth+1)
	}
}

func (s *scale) entries(v reflect.Value, depth int) {
	if v.IsNil() {
		return
	}
	s.put(48)
	if v.Len() > 0 { // it has room for eight entries, and doubles
		s.put(max(8, 2*v.Len()) * int(v.Type().Key().Size()+v.Type().Elem().Size()+1))
	}
	for it := v.MapRange(); s.left >= 0 && it.Next(); {
		s.behind(it.Key(), depth+1)
		s.behind(it.Value(), depth+1)
	}
}

// field weighs a field of a struct. JSON does not fill a field that is not exported,
// but a type that decodes itself does: its bytes count. Its pointers do not, nor those
// of a field without a name in JSON, since they can lead to what all calls share, as
// that of a [time.Time] to its location, or back up.
func (s *scale) field(f reflect.StructField, v reflect.Value, depth int) {
	hidden := !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-"
	switch {
	case !hidden:
		s.behind(v, depth+1)
	case v.Kind() == reflect.String:
		s.put(v.Len())
	case v.Kind() == reflect.Slice:
		s.put(v.Cap() * int(v.Type().Elem().Size()))
	}
}

// refers reports whether values of a type refer to memory.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return true
	case reflect.Array:
		return refers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if refers(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

package sse

import "reflect"

// snapshot copies a value as deep as JSON can fill it: exported fields,
// elements, map entries, and what pointers and interfaces hold. Unexported
// fields are copied as they stand.
//
// Decoding the raw arguments again for every round would be simpler and wrong:
// go-sdk fills in the defaults of the tool's schema while it decodes, and the
// raw arguments lack them.
func snapshot[T any](v T) T {
	var out T
	s := snapshotter{seen: map[any]reflect.Value{}}
	s.copy(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&v).Elem())
	return out
}

// seen keeps pointers that were already copied, so that a value that points to
// itself ends, and one that is pointed to twice stays one.
type snapshotter struct{ seen map[any]reflect.Value }

func (s snapshotter) copy(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.Pointer:
		if src.IsNil() {
			return
		}
		id := src.Interface()
		if done, ok := s.seen[id]; ok {
			dst.Set(done)
			return
		}
		p := reflect.New(src.Type().Elem())
		s.seen[id] = p.Convert(src.Type())
		s.copy(p.Elem(), src.Elem())
		dst.Set(s.seen[id])
	case reflect.Interface:
		if src.IsNil() {
			return
		}
		e := reflect.New(src.Elem().Type()).Elem()
		s.copy(e, src.Elem())
		dst.Set(e)
	case reflect.Slice:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
		s.elements(dst, src)
	case reflect.Array:
		s.elements(dst, src)
	case reflect.Map:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
		for it := src.MapRange(); it.Next(); {
			e := reflect.New(src.Type().Elem()).Elem()
			s.copy(e, it.Value())
			dst.SetMapIndex(it.Key(), e)
		}
	case reflect.Struct:
		dst.Set(src)
		s.fields(dst, src)
	default:
		dst.Set(src)
	}
}

func (s snapshotter) elements(dst, src reflect.Value) {
	for i := range src.Len() {
		s.copy(dst.Index(i), src.Index(i))
	}
}

func (s snapshotter) fields(dst, src reflect.Value) {
	for i := range src.NumField() {
		field := src.Type().Field(i)
		switch {
		case field.IsExported():
			s.copy(dst.Field(i), src.Field(i))
		case field.Anonymous && field.Type.Kind() == reflect.Struct:
			// Its own exported fields are filled by JSON and can be set.
			s.fields(dst.Field(i), src.Field(i))
		}
	}
}

package mrtr

import "reflect"

// IsSteady, IsSteadyType and IsPlainJSON are for tests.
func IsSteady[T any](saved []byte) bool { return isSteady[T](saved) }

func IsSteadyType[T any]() bool { return isSteadyType(reflect.TypeFor[T]()) }

func IsPlainJSON[T any](saved []byte) bool { return isPlainJSON[T](saved) }

package mrtr

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Answers are kept as JSON objects, as they arrive. isWhole reports whether a
// Go type stands for the whole object, or for its one property, which is then
// named as the question is.
func isWhole(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer { // of Optional, and of a client's own answer
		t = t.Elem()
	}
	return t.Kind() == reflect.Map || t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]()
}

// decodeAnswer reads the answer to the question named key. A no that counts as
// an answer is null, and reads as the zero value.
func decodeAnswer[T any](value json.RawMessage, key string) (v T, err error) {
	if isNull(value) {
		return v, nil
	}
	if isWhole(reflect.TypeFor[T]()) {
		err = json.Unmarshal(value, &v)
		return v, err
	}
	if s, ok := any(&v).(*string); ok {
		if text, ok := plainProperty(value, key); ok {
			*s = text
			return v, nil
		}
	}
	var content map[string]json.RawMessage
	if err = json.Unmarshal(value, &content); err == nil {
		err = json.Unmarshal(content[key], &v)
	}
	return v, err
}

// plainProperty reads {"key":"text"} without a decoder, where the text needs
// no unescaping: the answer of every enum.
func plainProperty(value json.RawMessage, key string) (string, bool) {
	rest, ok := bytes.CutPrefix(value, []byte(`{"`))
	if !ok || len(rest) < len(key)+5 || string(rest[:len(key)]) != key {
		return "", false
	}
	rest, ok = bytes.CutPrefix(rest[len(key):], []byte(`":`))
	if end := skipString(rest); ok && end == len(rest)-1 && rest[end] == '}' && bytes.IndexByte(rest, '\\') < 0 {
		return string(rest[1 : end-1]), true
	}
	return "", false
}

func readJSON[T any](value json.RawMessage) (v T, err error) {
	err = json.Unmarshal(value, &v)
	return v, err
}

func encodeAnswer[T any](v T, key string) (json.RawMessage, error) {
	if isWhole(reflect.TypeFor[T]()) {
		return json.Marshal(v)
	}
	return json.Marshal(map[string]T{key: v})
}

func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// isClientAnswer reports whether a type is what the client itself answers
// with, rather than its user.
func isClientAnswer(t reflect.Type) bool {
	return t == reflect.TypeFor[mcp.CreateMessageWithToolsResult]() || t == reflect.TypeFor[mcp.ListRootsResult]()
}

package toolschema

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
	}
	return "number"
}

func withArticle(types []string) string {
	named := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			named[i] = t
		case "array", "integer", "object":
			named[i] = "an " + t
		default:
			named[i] = "a " + t
		}
	}
	return strings.Join(named, " or ")
}

// same compares a value of the schema with a decoded one. The schema's goes
// through JSON first: one written in Go may say int where JSON has a float64.
func same(a, b any) bool {
	data, err := json.Marshal(a)
	if err != nil {
		return false
	}
	var decoded any
	return json.Unmarshal(data, &decoded) == nil && reflect.DeepEqual(decoded, b)
}

const maxListed = 20

func listed(values []any) string {
	var parts []string
	for _, v := range values[:min(len(values), maxListed)] {
		if data, err := json.Marshal(v); err == nil {
			parts = append(parts, string(data))
		}
	}
	if more := len(values) - maxListed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func plain(f float64) string {
	data, err := json.Marshal(f)
	if err != nil {
		return "a number"
	}
	return string(data)
}

const maxPointerToken = 64

// pointer appends a member's name to a JSON pointer. A long name is cut, since it
// comes from the caller.
func pointer(at, name string) string {
	if runes := []rune(name); len(runes) > maxPointerToken {
		name = fmt.Sprintf("%s...", string(slices.Clip(runes[:maxPointerToken])))
	}
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

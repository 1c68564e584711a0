package toolschema

import (
	"encoding/json"
	"fmt"
	"math"
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

// decoded are values as they come out of JSON. One that does not marshal equals
// nothing that was decoded, and is left out.
func decoded(values []any) []any {
	var all []any
	for _, v := range values {
		var out any
		if data, err := json.Marshal(v); err == nil && json.Unmarshal(data, &out) == nil {
			all = append(all, out)
		}
	}
	return all
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

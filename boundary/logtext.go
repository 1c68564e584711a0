package boundary

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxLoggedTool = 128
	maxLoggedText = 4 << 10
)

// loggedTool is the tool's name, cut: a client may call a name of any length.
func (c *call) loggedTool() string { return truncated(c.tool, maxLoggedTool) }

// truncated is the first n bytes of s and, if s is longer, its length.
func truncated(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n
	for end > 0 && end > n-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes)", s[:end], len(s))
}

const maxCauses = 32

// causes is the text of an error's whole chain, outermost first, without the texts
// that an outer one contains.
func causes(err error) string {
	var parts []string
	queue := []error{err}
	for len(queue) > 0 && len(parts) < maxCauses {
		next := queue[0]
		queue = queue[1:]
		if next == nil {
			continue
		}
		text := printed(next)
		if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, text) }) {
			parts = append(parts, text)
		}
		switch u := next.(type) {
		case interface{ Unwrap() error }:
			queue = append(queue, u.Unwrap())
		case interface{ Unwrap() []error }:
			queue = append(queue, u.Unwrap()...)
		}
	}
	return strings.Join(parts, ": ")
}

// printed formats a value for the log. Anything but an error, a string or a simple
// value is shown by its type: formatting a map that contains itself would end the
// process. What panics while it is formatted is shown so too.
func printed(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a value of type %T that panics when it is printed", v)
		}
	}()
	switch v := v.(type) {
	case error, fmt.Stringer, string:
		return fmt.Sprintf("%v", v)
	}
	switch reflect.ValueOf(v).Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.String:
		return fmt.Sprintf("%v", v)
	}
	return fmt.Sprintf("a value of type %T", v)
}

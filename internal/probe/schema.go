package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 64
	maxSchemaParts = 10_000 // with each $ref replaced by its target
)

// ReadSchema reads a schema that somebody else wrote. One that could keep the
// library busy for ever is refused: a $ref that leads back to itself overflows the
// stack in validation, a chain of doubled ones never ends, and deep nesting is
// read once for each level.
func ReadSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxSchemaBytes)
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, err
	}
	m := measure{root: root, left: maxSchemaParts, open: map[string]bool{}}
	if err := m.add(root, 0); err != nil {
		return nil, err
	}
	var s *jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		// The library reads 1e9 as no integer, which it is.
		respelled, _ := json.Marshal(root) // it was JSON
		if s = nil; json.Unmarshal(respelled, &s) != nil {
			return nil, err
		}
	}
	if s == nil {
		return nil, errors.New("it is null")
	}
	return s, nil
}

// measure counts the parts of a schema.
type measure struct {
	root any
	left int
	open map[string]bool // the references that are being followed
}

func (m *measure) add(part any, depth int) error {
	if m.left--; m.left < 0 {
		return fmt.Errorf("it has more than %d parts", maxSchemaParts)
	}
	if depth > maxSchemaDepth {
		return fmt.Errorf("it is nested deeper than %d", maxSchemaDepth)
	}
	switch part := part.(type) {
	case map[string]any:
		for name, child := range part {
			if name == "$dynamicRef" || name == "$recursiveRef" {
				return fmt.Errorf("it has a %s", name)
			}
			if ref, ok := child.(string); ok && name == "$ref" {
				if err := m.follow(ref, depth); err != nil {
					return err
				}
			}
			if err := m.add(child, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, child := range part {
			if err := m.add(child, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *measure) follow(ref string, depth int) error {
	if m.open[ref] {
		return fmt.Errorf("its $ref %q leads back to itself", ref)
	}
	target, ok := m.target(ref)
	if !ok {
		return fmt.Errorf("its $ref %q leads to no part of it by a JSON pointer", ref)
	}
	m.open[ref] = true
	defer delete(m.open, ref)
	return m.add(target, depth+1)
}

func (m *measure) target(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' || strings.Contains(pointer, "%") {
		return nil, false
	}
	at := m.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]; !ok {
			return nil, false
		}
	}
	return at, true
}

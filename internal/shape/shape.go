// Package shape judges JSON text by a JSON Schema: every problem, by JSON pointer, in terms of
// the schema and never of the value, which may be secret.
//
// [Compile] a schema once, at registration. [Shape.Fits] then walks a text without decoding
// it, and [Shape.Findings] names each problem. jsonschema-go has the last word on the few
// keywords that this package leaves alone. A test holds that the two always agree.
package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Shape is a compiled schema. It is safe for concurrent use.
type Shape struct {
	root     *node
	parts    map[string]*node // its definitions
	library  *jsonschema.Resolved
	partial  bool // the library decides, and the nodes explain
	defaults bool // the schema has some
}

const (
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
	draft7    = "http://json-schema.org/draft-07/schema#"
)

// Compile makes a Shape of a *jsonschema.Schema or of anything that marshals to one. The
// error is for a dialect or a schema that jsonschema-go cannot judge by.
func Compile(schema any) (_ *Shape, err error) {
	defer func() {
		if v := recover(); v != nil { // the author of a tool can generate its schema at run time
			err = panicked(v)
		}
	}()
	source, err := Source(schema)
	if err != nil {
		return nil, err
	}
	switch source.Schema {
	case "", draft2020, draft7, strings.Replace(draft7, "http:", "https:", 1):
	default:
		return nil, fmt.Errorf("the dialect %q is not supported", source.Schema)
	}
	library, err := source.Resolve(nil)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(source)
	if err != nil {
		return nil, err
	}
	c := compiler{root: source, old: strings.Contains(source.Schema, "draft-07"), nodes: map[*jsonschema.Schema]*node{}}
	s := &Shape{root: c.node(source), parts: c.named(source.Defs), library: library, defaults: bytes.Contains(text, []byte(`"default"`))}
	s.partial = c.partial
	return s, nil
}

// Part is the shape of one of the schema's definitions. It is nil if there is none of the name,
// or the schema has keywords that are left to the library.
func (s *Shape) Part(name string) *Shape {
	if n := s.parts[name]; n != nil && !s.partial {
		return &Shape{root: n}
	}
	return nil
}

// Source reads a schema that an author gave. A *jsonschema.Schema is taken as it is.
func Source(schema any) (source *jsonschema.Schema, err error) {
	source, ok := schema.(*jsonschema.Schema)
	if !ok {
		text, err := json.Marshal(schema)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &source); err != nil {
			return nil, err
		}
	}
	if source == nil {
		return nil, errors.New("the schema is nil")
	}
	return source, nil
}

// panicked shows a value of an unknown type by its type alone: formatting a map
// that contains itself would end the process.
func panicked(v any) error {
	switch v := v.(type) {
	case error:
		return fmt.Errorf("panic: %w", v)
	case string:
		return fmt.Errorf("panic: %s", v)
	}
	return fmt.Errorf("panic: a value of type %T", v)
}

// A node is a schema, or a part of one, that a value can be judged by.
type node struct {
	never bool // nothing satisfies it
	also  []*node
	kinds []string // of the types that are allowed; nil: any
	enum  []any    // the values that are allowed, decoded; nil: any
	is    []any    // const

	least, most, above, below, multiple *float64
	shortest, longest                   *int
	pattern                             *regexp.Regexp

	first              []*node // of the items
	rest               *node   // of the items behind them
	fewest, mostItems  *int
	unique             bool
	contains           *node
	fewestHits, hits   *int
	members            map[string]*node
	required           []string
	missing            []bool // as many as are required
	patterns           []patternNode
	others             *node // members of other names
	names              *node
	fewestIn, mostIn   *int
	together           map[string][]string
	dependent          map[string]*node
	any, one           []*node
	not, if_, then, or *node
}

type patternNode struct {
	pattern *regexp.Regexp
	node    *node
}

// A compiler makes the nodes of one schema. Each schema gets one node, so that a reference may
// lead back to a schema around it.
type compiler struct {
	root    *jsonschema.Schema
	old     bool // draft 7
	nodes   map[*jsonschema.Schema]*node
	partial bool // it met a keyword that it leaves to the library
}

func (c *compiler) node(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	if n, ok := c.nodes[s]; ok {
		return n
	}
	n := &node{}
	c.nodes[s] = n
	if s.ID != "" || s.Anchor != "" || s.DynamicAnchor != "" || s.DynamicRef != "" || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil {
		c.partial = true
	}
	if s.Ref != "" {
		if to := c.referred(s.Ref); to != nil {
			n.also = append(n.also, c.node(to))
		} else {
			c.partial = true
		}
		if c.old {
			return n // the other keywords are ignored there
		}
	}
	n.never = s.Not != nil && reflect.ValueOf(*s.Not).IsZero()
	n.kinds = s.Types
	if s.Type != "" {
		n.kinds = []string{s.Type}
	}
	n.enum = c.decoded(s.Enum)
	if s.Const != nil {
		n.is = c.decoded([]any{*s.Const})
	}
	n.least, n.most, n.above, n.below, n.multiple = s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf
	n.shortest, n.longest = s.MinLength, s.MaxLength
	if s.Pattern != "" {
		n.pattern = regexp.MustCompile(s.Pattern) // Resolve has compiled it
	}
	n.also = append(n.also, c.all(s.AllOf)...)
	n.any, n.one = c.all(s.AnyOf), c.all(s.OneOf)
	if !n.never {
		n.not = c.node(s.Not)
	}
	n.if_, n.then, n.or = c.node(s.If), c.node(s.Then), c.node(s.Else)
	c.array(n, s)
	c.object(n, s)
	return n
}

func (c *compiler) array(n *node, s *jsonschema.Schema) {
	switch {
	case !c.old:
		n.first, n.rest = c.all(s.PrefixItems), c.node(s.Items)
	case s.ItemsArray != nil:
		n.first, n.rest = c.all(s.ItemsArray), c.node(s.AdditionalItems)
	default:
		n.rest = c.node(s.Items)
	}
	n.fewest, n.mostItems, n.unique = s.MinItems, s.MaxItems, s.UniqueItems
	n.contains, n.fewestHits, n.hits = c.node(s.Contains), s.MinContains, s.MaxContains
}

func (c *compiler) object(n *node, s *jsonschema.Schema) {
	n.members = c.named(s.Properties)
	n.required, n.missing = s.Required, make([]bool, len(s.Required))
	for pattern, sub := range s.PatternProperties {
		n.patterns = append(n.patterns, patternNode{regexp.MustCompile(pattern), c.node(sub)})
	}
	n.others, n.names = c.node(s.AdditionalProperties), c.node(s.PropertyNames)
	n.fewestIn, n.mostIn = s.MinProperties, s.MaxProperties
	n.together, n.dependent = s.DependentRequired, c.named(s.DependentSchemas)
	if c.old {
		n.together, n.dependent = s.DependencyStrings, c.named(s.DependencySchemas)
	}
}

func (c *compiler) all(schemas []*jsonschema.Schema) []*node {
	if schemas == nil {
		return nil
	}
	nodes := []*node{}
	for _, s := range schemas {
		nodes = append(nodes, c.node(s))
	}
	return nodes
}

func (c *compiler) named(schemas map[string]*jsonschema.Schema) map[string]*node {
	nodes := map[string]*node{}
	for name, s := range schemas {
		nodes[name] = c.node(s)
	}
	return nodes
}

// referred is the schema that a reference within the schema leads to, and nil for any other.
func (c *compiler) referred(ref string) *jsonschema.Schema {
	if ref == "#" {
		return c.root
	}
	if strings.Count(ref, "/") != 2 || strings.ContainsAny(ref, "~%") {
		return nil
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return c.root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return c.root.Definitions[name]
	}
	return nil
}

// decoded are values as they come out of JSON: one written in Go may say int where JSON has a
// float64. One that does not marshal equals nothing that was decoded, and is left out. The
// library compares lists and objects of Go by the types of their elements.
func (c *compiler) decoded(values []any) []any {
	if values == nil {
		return nil
	}
	all := []any{}
	for _, v := range values {
		var out any
		if text, err := json.Marshal(v); err != nil || json.Unmarshal(text, &out) != nil {
			continue
		}
		all = append(all, out)
		switch out.(type) {
		case []any, map[string]any:
			c.partial = c.partial || !reflect.DeepEqual(v, out)
		}
	}
	return all
}

// Fits reports whether a text is JSON that satisfies the schema.
func (s *Shape) Fits(text []byte) bool { return s.Findings(text, 0) == nil }

// Findings returns the problems of a text, at most so many and sorted, or nil if it satisfies
// the schema. There is at least one of a text that does not.
func (s *Shape) Findings(text []byte, most int) []Finding {
	tidy, ok := tidied(text)
	if !ok {
		return []Finding{{Problem: "must be JSON"}}
	}
	if s.partial && s.allows(tidy) {
		return nil
	}
	j := judge{room: most}
	j.text(s.root, tidy)
	if !j.failed && !s.partial {
		return nil
	}
	if len(j.found) == 0 {
		j.found = []Finding{{Problem: "must satisfy the schema"}}
	}
	slices.SortStableFunc(j.found, func(a, b Finding) int {
		return strings.Compare(a.Pointer+"\x00"+a.Problem, b.Pointer+"\x00"+b.Problem)
	})
	return j.found
}

// allows is the library's own judgement. It asserts types that it has not checked.
func (s *Shape) allows(text []byte) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	var value any
	return json.Unmarshal(text, &value) == nil && s.library.Validate(value) == nil
}

// HasDefaults reports whether the schema has defaults, which [Shape.Filled] fills in.
func (s *Shape) HasDefaults() bool { return s.defaults }

// Filled is an object with the schema's defaults in it.
func (s *Shape) Filled(text []byte) (filled []byte, err error) {
	if !s.defaults {
		return text, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	if object == nil {
		object = map[string]any{}
	}
	if err := s.library.ApplyDefaults(&object); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// A step leads from a value to a member or an item of it.
type step struct {
	name   string
	index  int
	member bool // name counts, else index
}

const maxPointerToken = 64

// Pointer is the JSON pointer to a member.
func Pointer(member string) string { return pointerTo([]step{{name: member, member: true}}) }

// pointerTo is a JSON pointer that is fit for a model to read. The names in it may
// come from the caller: a long one is cut, and a character that moves the cursor,
// ends the line or turns the direction of writing becomes an escape.
func pointerTo(path []step) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteByte('/')
		if s.member {
			writeToken(&b, s.name)
		} else {
			b.WriteString(strconv.Itoa(s.index))
		}
	}
	return b.String()
}

func writeToken(b *strings.Builder, name string) {
	n := 0
	for _, r := range name {
		if n++; n > maxPointerToken {
			b.WriteString("...")
			return
		}
		switch {
		case r == '~':
			b.WriteString("~0")
		case r == '/':
			b.WriteString("~1")
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(b, `\U%08x`, r)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
}

package shape

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// A Finding is one problem with a value.
type Finding struct {
	Pointer string // JSON pointer into the value; "" for the whole
	Problem string // reads after the pointer: "is required"
}

// tidied is a text that a judge can walk: it is JSON whose numbers fit a float64, and no name
// stands twice in an object. Of two members with one name the last counts.
func tidied(text []byte) ([]byte, bool) {
	w := jsontext.Walk(text, jsontext.MaxDepth)
	numbers, twice := look(w)
	switch {
	case !w.End() || !numbers:
		return nil, false
	case !twice:
		return text, true
	}
	plain, err := json.Marshal(jsontext.Walk(text, jsontext.MaxDepth).Decode())
	return plain, err == nil
}

// look reads a value. It reports whether each number fits a float64, and whether a name stands
// twice in one object.
func look(w *jsontext.Walker) (numbers, twice bool) {
	numbers = true
	one := func() {
		n, t := look(w)
		numbers, twice = numbers && n, twice || t
	}
	switch w.Kind() {
	case '{':
		var names jsontext.NameSet
		for name := range w.Members {
			twice = !names.Add(name) || twice
			one()
		}
	case '[':
		for range w.Elements {
			one()
		}
	case '"', 't', 'f', 'n':
		w.Value()
	default:
		number := w.Value()
		_, err := strconv.ParseFloat(string(number), 64)
		numbers = number == nil || err == nil
	}
	return numbers, twice
}

// A judge walks one text. It stops once it has as many findings as there is room for.
type judge struct {
	room   int
	found  []Finding
	failed bool
	path   []step // to the value that is judged
	depth  int
}

// maxDepth bounds schemas that refer to themselves without end.
const maxDepth = 3 * jsontext.MaxDepth

// refuse notes a problem of the current value.
func (j *judge) refuse(format string, args ...any) {
	j.failed = true
	if len(j.found) < j.room {
		j.found = append(j.found, Finding{pointerTo(j.path), fmt.Sprintf(format, args...)})
	}
}

// refuseMember notes a problem of a member of the current value.
func (j *judge) refuseMember(name, format string, args ...any) {
	j.path = append(j.path, step{name: name, member: true})
	j.refuse(format, args...)
	j.path = j.path[:len(j.path)-1]
}

func (j *judge) done() bool { return j.failed && len(j.found) >= j.room }

// text judges a text of its own.
func (j *judge) text(n *node, text []byte) { j.value(n, jsontext.Walk(text, jsontext.MaxDepth)) }

// fits judges a text without a word.
func (j *judge) fits(n *node, text []byte) bool {
	quiet := judge{depth: j.depth}
	quiet.text(n, text)
	return !quiet.failed
}

func (j *judge) within(at step, n *node, w *jsontext.Walker) {
	j.path = append(j.path, at)
	j.value(n, w)
	j.path = j.path[:len(j.path)-1]
}

// value judges the next value, and reads it.
func (j *judge) value(n *node, w *jsontext.Walker) {
	if n == nil || j.done() {
		w.Value()
		return
	}
	j.depth++
	defer func() { j.depth-- }()
	if j.depth > maxDepth {
		j.refuse("is nested too deep")
		w.Value()
		return
	}
	start := w.Offset()
	if n.never {
		j.refuse("is not allowed")
		w.Value()
		return
	}
	switch kind := w.Kind(); kind {
	case '{':
		if j.typed(n, "object") {
			j.object(n, w)
		}
	case '[':
		if j.typed(n, "array") {
			j.array(n, w)
		}
	case '"':
		if j.typed(n, "string") {
			j.string(n, w.Text())
		}
	case 't', 'f':
		j.typed(n, "boolean")
	case 'n':
		j.typed(n, "null")
	default:
		number, _ := strconv.ParseFloat(string(w.Value()), 64)
		name := "number"
		if number == math.Trunc(number) {
			name = "integer"
		}
		if j.typed(n, name) {
			j.number(n, number)
		}
	}
	if w.Offset() == start {
		w.Value()
	}
	if j.done() {
		return
	}
	text := w.Since(start)
	j.equal(n, text)
	for _, also := range n.also {
		j.text(also, text)
	}
	j.composed(n, text)
}

// typed reports whether the other keywords are worth a look.
func (j *judge) typed(n *node, kind string) bool {
	if n.kinds == nil || slices.Contains(n.kinds, kind) || kind == "integer" && slices.Contains(n.kinds, "number") {
		return true
	}
	j.refuse("must be %s, not %s", withArticle(n.kinds), withArticle([]string{kind}))
	return false
}

func (j *judge) equal(n *node, text []byte) {
	if n.enum != nil && !contains(n.enum, text) {
		j.refuse("must be one of %s", listed(n.enum))
	}
	if n.is != nil && !contains(n.is, text) {
		j.refuse("must be %s", listed(n.is))
	}
}

func contains(values []any, text []byte) bool {
	w := jsontext.Walk(text, jsontext.MaxDepth)
	if w.Kind() == '"' {
		text := w.Text()
		return slices.ContainsFunc(values, func(v any) bool { s, ok := v.(string); return ok && s == string(text) })
	}
	value := w.Decode()
	return slices.ContainsFunc(values, func(v any) bool { return reflect.DeepEqual(v, value) })
}

func (j *judge) string(n *node, text []byte) {
	j.count(utf8.RuneCount(text), n.shortest, n.longest, "characters")
	if n.pattern != nil && !n.pattern.Match(text) {
		j.refuse("must match the pattern %s", n.pattern)
	}
}

func (j *judge) count(n int, least, most *int, what string) {
	if least != nil && n < *least {
		j.refuse("must have at least %d %s", *least, what)
	}
	if most != nil && n > *most {
		j.refuse("must have at most %d %s", *most, what)
	}
}

func (j *judge) number(n *node, v float64) {
	if n.least != nil && v < *n.least {
		j.refuse("must be at least %s", plain(*n.least))
	}
	if n.most != nil && v > *n.most {
		j.refuse("must be at most %s", plain(*n.most))
	}
	if n.above != nil && v <= *n.above {
		j.refuse("must be more than %s", plain(*n.above))
	}
	if n.below != nil && v >= *n.below {
		j.refuse("must be less than %s", plain(*n.below))
	}
	if n.multiple != nil {
		if _, rest := math.Modf(v / *n.multiple); rest != 0 {
			j.refuse("must be a multiple of %s", plain(*n.multiple))
		}
	}
}

func (j *judge) array(n *node, w *jsontext.Walker) {
	start, count := w.Offset(), 0
	for i := range w.Elements {
		count++
		item := n.rest
		if i < len(n.first) {
			item = n.first[i]
		}
		j.within(step{index: i}, item, w)
	}
	j.count(count, n.fewest, n.mostItems, "items")
	if n.unique && count > 1 && !j.done() && repeats(w.Since(start)) {
		j.refuse("must not have the same item twice")
	}
	if n.contains != nil && !j.done() && !j.holds(n, w.Since(start)) {
		j.refuse("does not have the items it must")
	}
}

// repeats reports whether an item stands twice in an array.
func repeats(array []byte) bool {
	w, seen := jsontext.Walk(array, jsontext.MaxDepth), map[string]struct{}{}
	for range w.Elements {
		item, err := json.Marshal(unsigned(w.Decode())) // names sorted, numbers alike
		if _, twice := seen[string(item)]; twice || err != nil {
			return true
		}
		seen[string(item)] = struct{}{}
	}
	return false
}

// unsigned is a decoded value without negative zeros, which equal the others.
func unsigned(v any) any {
	switch v := v.(type) {
	case float64:
		return v + 0
	case []any:
		for i := range v {
			v[i] = unsigned(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = unsigned(v[name])
		}
	}
	return v
}

// holds reports whether an array has as many as it must of the items that it must have.
func (j *judge) holds(n *node, array []byte) bool {
	w, hits := jsontext.Walk(array, jsontext.MaxDepth), 0
	for range w.Elements {
		if j.fits(n.contains, w.Value()) {
			hits++
		}
	}
	least := 1
	if n.fewestHits != nil {
		least = *n.fewestHits
	}
	return hits >= least && (n.hits == nil || hits <= *n.hits)
}

func (j *judge) object(n *node, w *jsontext.Walker) {
	start, count := w.Offset(), 0
	var few [16]bool
	has := append(few[:0], n.missing...)
	for name := range w.Members {
		count++
		for i, required := range n.required {
			has[i] = has[i] || string(name) == required
		}
		j.member(n, name, w)
	}
	for i, name := range n.required {
		if !has[i] {
			j.refuseMember(name, "is required")
		}
	}
	j.count(count, n.fewestIn, n.mostIn, "members")
	if len(n.together) == 0 && len(n.dependent) == 0 || j.done() {
		return
	}
	object := w.Since(start)
	for name, needs := range n.together {
		for _, need := range needs {
			if member(object, name) && !member(object, need) {
				j.refuseMember(need, "is required together with %q", name)
			}
		}
	}
	for name, sub := range n.dependent {
		if member(object, name) && !j.fits(sub, object) {
			j.refuse("breaks a condition of the schema")
		}
	}
}

// member judges the next member of an object.
func (j *judge) member(n *node, name []byte, w *jsontext.Walker) {
	if j.done() {
		return
	}
	if n.names != nil {
		if quoted, _ := json.Marshal(string(name)); !j.fits(n.names, quoted) {
			j.refuse("has a member whose name is not allowed")
		}
	}
	var few [4]*node
	nodes := few[:0]
	if sub, ok := n.members[string(name)]; ok {
		nodes = append(nodes, sub)
	}
	for _, p := range n.patterns {
		if p.pattern.Match(name) {
			nodes = append(nodes, p.node)
		}
	}
	if len(nodes) == 0 {
		switch {
		case n.others == nil:
			return
		case n.others.never:
			j.refuseMember(string(name), "is not a known member")
			return
		}
		nodes = append(nodes, n.others)
	}
	at := step{name: string(name), member: true}
	if len(nodes) == 1 {
		j.within(at, nodes[0], w)
		return
	}
	value := w.Value()
	for _, sub := range nodes {
		j.within(at, sub, jsontext.Walk(value, jsontext.MaxDepth))
	}
}

// member reports whether an object has a member.
func member(object []byte, name string) (found bool) {
	w := jsontext.Walk(object, jsontext.MaxDepth)
	for other := range w.Members {
		found = found || string(other) == name
	}
	return found
}

// composed judges the keywords that offer alternatives or conditions. It reports only that
// none fits, since it would have to guess which branch was meant.
func (j *judge) composed(n *node, text []byte) {
	fits := func(n *node) bool { return j.fits(n, text) }
	if n.any != nil && !slices.ContainsFunc(n.any, fits) {
		j.refuse("must fit one of the allowed forms")
	}
	if n.one != nil {
		count := 0
		for _, one := range n.one {
			if fits(one) {
				count++
			}
		}
		if count != 1 {
			j.refuse("must fit exactly one of the allowed forms")
		}
	}
	if n.not != nil && fits(n.not) {
		j.refuse("has a form that is not allowed")
	}
	if n.if_ != nil {
		branch := n.or
		if fits(n.if_) {
			branch = n.then
		}
		if branch != nil && !fits(branch) {
			j.refuse("breaks a condition of the schema")
		}
	}
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

// maxListed is how many values a problem names.
const maxListed = 20

func listed(values []any) string {
	var parts []string
	for _, v := range values[:min(len(values), maxListed)] {
		parts = append(parts, plain(v))
	}
	if more := len(values) - maxListed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// plain is a decoded value as JSON.
func plain(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "a number" // that is not finite
	}
	return string(text)
}

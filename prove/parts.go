package prove

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// query is a state that is spelled as the query of a URL.
type query struct {
	names  []string
	values map[string]string
}

var queryLike = regexp.MustCompile(`^[\w.-]+=[^&]*(&[\w.-]+=[^&]*){1,30}$`)

func queryOf(state string) (q query, ok bool) {
	values, err := url.ParseQuery(state)
	if err != nil || !queryLike.MatchString(state) {
		return q, false
	}
	q.values = map[string]string{}
	for _, pair := range strings.Split(state, "&") {
		name, _, _ := strings.Cut(pair, "=")
		q.names = append(q.names, name)
		q.values[name] = values.Get(name)
	}
	return q, true
}

// with is the query with other values, which are a JSON object.
func (q query) with(values string) string {
	var changed map[string]any
	_ = json.Unmarshal([]byte(values), &changed) // it was made here
	var pairs []string
	for _, name := range q.names {
		if value, has := changed[name]; has {
			pairs = append(pairs, name+"="+url.QueryEscape(fmt.Sprint(value)))
		}
	}
	return strings.Join(pairs, "&")
}

// parts are those of a state that is put together with a separator, as a JSON Web Token is.
type parts struct {
	parts     []string
	separator string
}

// partsOf splits a state at its most telling separator. A state without one is a single part.
func partsOf(state string) parts {
	if isJSON(state) {
		return parts{parts: []string{state}}
	}
	if queryLike.MatchString(state) {
		return parts{strings.Split(state, "&"), "&"}
	}
	for _, separator := range []string{".", "~", "|", ":", "$"} {
		if all := strings.Split(state, separator); len(all) > 1 && len(all) < 16 {
			return parts{all, separator}
		}
	}
	return parts{parts: []string{state}}
}

func (p parts) join() string { return strings.Join(p.parts, p.separator) }

// with is the state with another part in the place of one.
func (p parts) with(i int, part string) string {
	changed := slices.Clone(p.parts)
	changed[i] = part
	return strings.Join(changed, p.separator)
}

// dismembered leaves out parts, empties them and exchanges them.
func dismembered(state string) []mutant {
	p := partsOf(state)
	if len(p.parts) == 1 {
		return nil
	}
	var all []mutant
	add := func(what, other string) {
		if other != state {
			all = append(all, mutant{what, other})
		}
	}
	for _, more := range append(slices.Clone(p.parts), "x") {
		if name, _, ok := strings.Cut(more, "="); ok && p.separator == "&" {
			more = name + "=forged" // the last of two may win
		}
		add("with one more part", state+p.separator+more)
	}
	for i := range p.parts {
		name := fmt.Sprintf("its part %d of %d", i+1, len(p.parts))
		add("without "+name, strings.Join(slices.Delete(slices.Clone(p.parts), i, i+1), p.separator))
		add("with "+name+" empty", p.with(i, ""))
	}
	reversed := slices.Clone(p.parts)
	slices.Reverse(reversed)
	add("with its parts in the other order", strings.Join(reversed, p.separator))
	return all
}

// spliced puts a state together of the parts of two calls.
func spliced(one, two string) (all []mutant) {
	a, b := partsOf(one), partsOf(two)
	if len(a.parts) != len(b.parts) {
		return nil
	}
	for n := range a.parts {
		if state := a.with(n, b.parts[n]); state != one && state != two {
			all = append(all, mutant{fmt.Sprintf("with its part %d from another call", n+1), state})
		}
	}
	return all
}

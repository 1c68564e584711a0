package prove

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mutant is a state that was altered.
type mutant struct {
	what  string
	state string
}

// mostFlips are the places of one state that are changed.
const mostFlips = 14

// flipped changes one character at a time, in every part of the state and at both of its ends:
// to another of its kind, so that what is encoded still decodes.
func flipped(state string) []mutant {
	var all []mutant
	places := min(len(state), mostFlips)
	for n := range places {
		i := n
		if places > 1 {
			i = n * (len(state) - 1) / (places - 1)
		}
		if last := i+1 == len(state) || strings.IndexByte(".~|:$=", state[i+1]) >= 0; last && len(state) > 1 {
			continue // it may have bits that encode nothing
		}
		all = append(all, mutant{fmt.Sprintf("with character %d of %d changed", i+1, len(state)), state[:i] + string(neighbor(state[i])) + state[i+1:]})
	}
	if other := otherCase(state); other != state && !isHex(state) {
		all = append(all, mutant{"with its capitals and small letters exchanged", other})
	}
	return all
}

func otherCase(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsUpper(c) {
			return unicode.ToLower(c)
		}
		return unicode.ToUpper(c)
	}, text)
}

// isHex says that a state is spelled in hexadecimal digits, in parts or whole: their case means
// nothing.
func isHex(state string) bool {
	return !slices.ContainsFunc(partsOf(state).parts, func(part string) bool {
		_, err := hex.DecodeString(strings.ReplaceAll(part, "-", ""))
		return err != nil
	})
}

// neighbor is another character of the same kind.
func neighbor(c byte) byte {
	for _, kind := range []string{"0123456789", "abcdef", "ABCDEF", "ghijklmnopqrstuvwxyz", "GHIJKLMNOPQRSTUVWXYZ"} {
		if i := strings.IndexByte(kind, c); i >= 0 {
			return kind[(i+len(kind)/2)%len(kind)]
		}
	}
	return 'A'
}

func cut(state string) []mutant {
	if len(state) < 2 {
		return nil
	}
	all := []mutant{
		{"without its last quarter", state[:len(state)-(len(state)+3)/4]},
		{"without its first half", state[len(state)/2:]},
		{"cut to its first character", state[:1]},
	}
	for _, n := range []int{1, 2, 4, 8} { // a tag that is compared as far as it goes
		if n < len(state) {
			all = append(all, mutant{fmt.Sprintf("without its last %d characters", n), state[:len(state)-n]})
		}
	}
	return all
}

func extended(state string) []mutant {
	return []mutant{{"with x appended", state + "x"}, {"with AAAA appended", state + "AAAA"}, {"with x put before it", "x" + state}}
}

func garbage() []mutant {
	return []mutant{
		{"the word garbage", "garbage"}, {"an empty JSON object", "{}"}, {"the word null", "null"},
		{"a control character", "\x00"}, {"text that is no ASCII", "état"},
	}
}

func large() []mutant { return []mutant{{"a megabyte of A", strings.Repeat("A", 1<<20)}} }

// reading is a part of a state that whoever holds it can read, and can write
// anew.
type reading struct {
	text  string
	write func(text string) (state string)
}

// read finds the legible part of a state: JSON, plain or in base64, also as one
// of several parts between dots, or a few plain words. It is nil if a state
// looks sealed.
func read(state string) *reading {
	if all := readings(state); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// readings are all of its legible parts.
func readings(state string) (all []reading) {
	whole := reading{state, func(s string) string { return s }}
	if isJSON(state) {
		return []reading{whole}
	}
	if q, ok := queryOf(state); ok {
		return []reading{{marshal(q.values), q.with}}
	}
	p := partsOf(state)
	for i, part := range p.parts {
		if plain, write := decoded(part); isJSON(plain) {
			all = append(all, reading{plain, func(s string) string { return p.with(i, write(s)) }})
		}
	}
	if len(all) == 0 && len(state) <= 40 && isWords(state) && !isRandom(state) {
		all = append(all, whole)
	}
	return all
}

// decoded is what a part says, and how another text is written in its place.
func decoded(part string) (plain string, write func(string) string) {
	if raw, spell := spelled(part, func(raw []byte) bool { return isJSON(string(raw)) }); raw != nil {
		return string(raw), func(s string) string { return spell([]byte(s)) }
	}
	return embedded(part)
}

// embedded is the JSON that stands between other bytes, such as a signature.
func embedded(part string) (plain string, write func(string) string) {
	if raw, spell := rawBytes(part); raw != nil {
		from, to := bytes.IndexByte(raw, '{'), bytes.LastIndexByte(raw, '}')+1
		for ; from >= 0 && from < to; from++ {
			if raw[from] == '{' && to-from > 8 && json.Valid(raw[from:to]) {
				return string(raw[from:to]), func(s string) string { return spell(slices.Concat(raw[:from], []byte(s), raw[to:])) }
			}
		}
	}
	return part, func(s string) string { return s }
}

// says names the parts of a JSON object, whose values may be others each time, and
// quotes anything else.
func (r *reading) says() string {
	var object map[string]any
	if json.Unmarshal([]byte(r.text), &object) == nil && object != nil {
		return "is a JSON object with the members " + strings.Join(slices.Sorted(maps.Keys(object)), ", ")
	}
	return fmt.Sprintf("says %q", r.text)
}

func isJSON(text string) bool {
	text = strings.TrimSpace(text)
	return len(text) > 1 && strings.ContainsRune(`{["`, rune(text[0])) && json.Valid([]byte(text))
}

// isWords reports whether text is for people. Sealed states are longer.
func isWords(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

// isRandom reports whether a text is a handle that was drawn: its letters change between
// capitals, small letters and digits as no word's do, or it is long without a gap, with
// digits in it or in capitals alone.
func isRandom(text string) bool {
	if len(text) < 16 {
		return false
	}
	kind := func(c byte) int {
		switch {
		case c >= '0' && c <= '9':
			return 1
		case c >= 'A' && c <= 'Z':
			return 2
		case c >= 'a' && c <= 'z':
			return 3
		}
		return 0
	}
	pairs, changes := 0, 0
	for i := 1; i < len(text); i++ {
		if a, b := kind(text[i-1]), kind(text[i]); a != 0 && b != 0 {
			pairs++
			if a != b {
				changes++
			}
		}
	}
	gapless := pairs == len(text)-1 && pairs >= 19
	return 6*changes >= pairs || gapless && (changes > 0 || text == strings.ToUpper(text))
}

// forgeries are other states that say something else, each with a description.
func (r *reading) forgeries() []mutant {
	var all []mutant
	add := func(what, text string) {
		if state := r.write(text); text != r.text {
			all = append(all, mutant{what, state})
		}
	}
	var value any
	if json.Unmarshal([]byte(r.text), &value) == nil && isJSON(r.text) {
		for _, change := range changes(value) {
			add("with "+change.where+" changed", marshal(change.value))
		}
		return all[:min(len(all), mostForgeries)]
	}
	for _, by := range []int{1, -1, -2, -3} { // the calls before are others'
		if changed := increment(r.text, by); changed != r.text {
			add(fmt.Sprintf("with its number changed by %d", by), changed)
		}
	}
	for _, text := range []string{"forged", "done", "confirmed", "2"} {
		add("forged", text)
	}
	return all
}

// mostForgeries are the changes of one claim that are tried.
const mostForgeries = 60

type change struct {
	where string
	value any
}

// changes are copies of a JSON value, in each of which one leaf is another.
func changes(value any) []change {
	switch v := value.(type) {
	case map[string]any:
		var all []change
		for _, name := range slices.Sorted(maps.Keys(v)) {
			for _, c := range changes(v[name]) {
				all = append(all, change{strings.TrimSuffix(name+"."+c.where, "."), with(v, name, c.value)})
			}
			without := maps.Clone(v)
			delete(without, name)
			all = append(all, change{name + ", left out and so", without})
		}
		return all
	case []any:
		var all []change
		for i := range v {
			for _, c := range changes(v[i]) {
				changed := slices.Clone(v)
				changed[i] = c.value
				all = append(all, change{strings.TrimSuffix(strconv.Itoa(i)+"."+c.where, "."), changed})
			}
		}
		return all
	case string:
		return slices.Concat([]change{{"", "forged"}, {"", increment(v, 1)}, {"", v[:len(v)/2]}}, inner(v))
	case float64:
		return []change{{"", v + 1}}
	case bool:
		return []change{{"", !v}}
	}
	return []change{{"", "forged"}}
}

// inner are the changes of JSON that a text holds.
func inner(text string) (all []change) {
	plain, write := decoded(text)
	var value any
	if !isJSON(plain) || json.Unmarshal([]byte(plain), &value) != nil {
		return nil
	}
	for _, c := range changes(value) {
		all = append(all, change{c.where, write(marshal(c.value))})
	}
	return all
}

// increment changes the last number in a text.
func increment(text string, by int) string {
	end := strings.LastIndexFunc(text, unicode.IsDigit)
	if end < 0 {
		return text
	}
	start := end
	for start > 0 && text[start-1] >= '0' && text[start-1] <= '9' {
		start--
	}
	n, err := strconv.Atoi(text[start : end+1])
	if err != nil {
		return text
	}
	return fmt.Sprintf("%s%d%s", text[:start], n+by, text[end+1:])
}

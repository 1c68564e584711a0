package prove

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mrtr-go/sdk/internal/wire"
)

// A server may make other keys for the questions of each call. A question of the honest call
// is found in another one by its key, or else by what it asks for and in which words.

// isQuestion reports whether a question is the one that the honest call was asked as q.
func (t *trial) isQuestion(q, asked wire.Question) bool {
	if asked.Key == q.Key {
		return true
	}
	known := func(other wire.Question) bool { return other.Key == asked.Key }
	if slices.ContainsFunc(t.honest.questions(), known) || asksFor(asked) != asksFor(q) {
		return false
	}
	others := 0
	for _, other := range t.honest.questions() {
		if asksFor(other) == asksFor(q) {
			others++
		}
	}
	return others == 1 || reads(asked.Message, q.Message)
}

// asksFor is the kind of a question, and what its form has.
func asksFor(q wire.Question) string {
	properties := q.Properties()
	for i, name := range properties {
		if name == q.Key {
			properties[i] = "*"
		}
	}
	return strings.Join(append([]string{q.Method, q.Mode}, properties...), " ")
}

// reads reports whether two messages are the same but for what may vary: at least half of
// their words.
func reads(a, b string) bool {
	one, other := wordsOf(a), wordsOf(b)
	if len(one) != len(other) {
		head, tail := common(one, other)
		return 2*(head+tail) >= max(len(one), len(other))
	}
	words, same := 0, 0
	for i, word := range one {
		if strings.ContainsFunc(word, unicode.IsLetter) {
			words++
			if word == other[i] {
				same++
			}
		}
	}
	return 2*same >= words
}

// asHonest answers a question of a task, or of a legacy client, as the honest call answered the one
// with the same form, and in the same words if there are several: it has another key, or none.
func (t *trial) asHonest(q wire.Question) any {
	inWords := func(known wire.Question) bool { return known.Message == q.Message && known.URL == q.URL }
	inForm := func(known wire.Question) bool {
		return known.Method == q.Method && canonical(known.Schema) == canonical(q.Schema)
	}
	var alike []wire.Question
	for _, known := range t.honest.questions() {
		if inForm(known) {
			alike = append(alike, known)
		}
	}
	if len(alike) == 0 {
		return t.honestly(q)
	}
	return t.honestly(alike[max(0, slices.IndexFunc(alike, inWords))])
}

// isAsked reports whether a reply asks a question of the honest call.
func (t *trial) isAsked(s exchange, q wire.Question) bool {
	return s.asks() && slices.ContainsFunc(s.reply.Asks, func(asked wire.Question) bool { return t.isQuestion(q, asked) })
}

// common counts the words that two texts share at their beginnings, and at their ends.
func common(a, b []string) (head, tail int) {
	shorter := min(len(a), len(b))
	for head < shorter && a[head] == b[head] {
		head++
	}
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// clock matches the times that a server may write: they differ between equal calls, although
// two that follow each other closely may have the same.
var clock = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|UTC|[+-]\d\d:?\d\d))?|\b\d{1,2}:\d\d:\d\d(\.\d+)?|\b1[6-9]\d{8}(\d{3})?\b`)

// timeless is a text without its times.
func timeless(text string) string { return clock.ReplaceAllString(text, "time") }

// wordsOf splits a text into its words and what stands between them. An id, a date or a
// number is one word.
func wordsOf(text string) (words []string) {
	inWord := func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("_-+", c)
	}
	text = timeless(text)
	start, was := 0, false
	for i, c := range text {
		if is := inWord(c); i > 0 && !(is && was) {
			words = append(words, text[start:i])
			start = i
		}
		was = inWord(c)
	}
	if start < len(text) {
		words = append(words, text[start:])
	}
	return words
}

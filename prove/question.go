package prove

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mrtr-go/sdk/internal/wire"
)

// A server may make other keys for the questions of each call. A question of the honest call
// is found in another one by its key, or else by what it asks for and in which words.

// here is a question of the honest call as it was asked in the call that was reached last.
func (t *trial) here(q wire.Question) wire.Question {
	if i := slices.IndexFunc(t.asks, func(asked wire.Question) bool { return t.isQuestion(q, asked) }); i >= 0 {
		return t.asks[i]
	}
	return q
}

// inHonest is a question of another call as the honest one was asked it.
func (t *trial) inHonest(asked wire.Question) wire.Question {
	all := t.honest.questions()
	if i := slices.IndexFunc(all, func(q wire.Question) bool { return t.isQuestion(q, asked) }); i >= 0 {
		return all[i]
	}
	return asked
}

// isQuestion reports whether a question is the one that the honest call was asked as q.
func (t *trial) isQuestion(q, asked wire.Question) bool {
	if asked.Key == q.Key {
		return true
	}
	known := func(other wire.Question) bool { return other.Key == asked.Key }
	return !slices.ContainsFunc(t.honest.questions(), known) && asksFor(asked) == asksFor(q) && reads(asked.Message, q.Message)
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

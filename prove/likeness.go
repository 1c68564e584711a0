package prove

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// likeness is the text of replies that are alike: two or more replies to equal requests, which
// may differ in the ids, times and counts that a server makes. It keeps the words that they
// have in common.
type likeness struct {
	words  []string
	varies []bool // the words that were others in another reply
	// head and tail are used where the replies had different numbers of words: as many as
	// were the same from the beginning, and to the end.
	head, tail int
	ragged     bool
}

// likenessOf learns what varies.
func likenessOf(texts ...string) likeness {
	l := likeness{words: wordsOf(texts[0])}
	l.varies = make([]bool, len(l.words))
	for _, text := range texts[1:] {
		l.learn(wordsOf(text))
	}
	return l
}

func (l *likeness) learn(words []string) {
	head, tail := common(l.words, words)
	if len(words) != len(l.words) && !l.ragged {
		l.ragged, l.head, l.tail = true, len(l.words), len(l.words)
		for i, varies := range l.varies {
			if varies {
				l.head, l.tail = min(l.head, i), min(l.tail, len(l.words)-1-i)
			}
		}
	}
	if l.ragged {
		l.head, l.tail = min(l.head, head), min(l.tail, tail)
		return
	}
	for i, word := range words {
		l.varies[i] = l.varies[i] || word != l.words[i]
	}
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

// fits reports whether a text may be another reply of these.
func (l likeness) fits(text string) bool {
	words := wordsOf(text)
	if l.ragged {
		n := len(l.words)
		return len(words) >= l.head+l.tail && slices.Equal(words[:l.head], l.words[:l.head]) &&
			slices.Equal(words[len(words)-l.tail:], l.words[n-l.tail:])
	}
	if len(words) != len(l.words) {
		return false
	}
	for i, word := range words {
		if !l.varies[i] && word != l.words[i] {
			return false
		}
	}
	return true
}

// tells says that enough is the same in all of them to tell one from the reply to something
// else: a word behind the first, which names the kind of the reply.
func (l likeness) tells() bool {
	kind := true
	for i, word := range l.words {
		if !strings.ContainsFunc(word, unicode.IsLetter) {
			continue
		}
		same := !l.varies[i]
		if l.ragged {
			same = i < l.head || i >= len(l.words)-l.tail
		}
		if same && !kind {
			return true
		}
		kind = false
	}
	return false
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

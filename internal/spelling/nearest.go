// Package spelling finds the names that a misspelt one may mean.
package spelling

import (
	"slices"
	"strings"
)

const (
	tooLong = 128 // bytes of a name or candidate that is compared

	// maxWork bounds the cells of all distances of one search. A client chooses
	// the name, and the candidates may be a thousand.
	maxWork = 1 << 18
)

// Nearest returns at most n of the candidates that name could be a misspelling of,
// nearest first, those equally near in their given order. It suggests nothing for
// a name of more than 128 bytes. Its work is bounded: of very many candidates that
// are all alike it may leave out the last.
func Nearest(name string, candidates []string, n int) []string {
	names, _ := nearest(name, candidates, n)
	return names
}

type scored struct {
	name     string
	distance int
}

func nearest(name string, candidates []string, n int) (names []string, work int) {
	if len(name) > tooLong || n <= 0 {
		return nil, 0
	}
	folded := fold(name)
	s := search{name: []rune(folded)}
	letters := countLetters(s.name)
	var found []scored
	for _, candidate := range candidates {
		if len(candidate) > tooLong {
			continue
		}
		other := fold(candidate)
		runes := []rune(other)
		var distance int
		if len(folded) >= 3 && strings.Contains(other, folded) || len(other) >= 3 && strings.Contains(folded, other) {
			distance = max(len(runes)-len(s.name), len(s.name)-len(runes)) // the rest is inserted
		} else {
			longer := max(len(folded), len(other))
			most := min(1+longer/4, (longer-1)/2)
			if len(found) == n {
				most = min(most, found[n-1].distance-1)
			}
			if most < 0 || letters.distance(countLetters(runes)) > most {
				continue
			}
			if s.work > maxWork {
				break
			}
			if distance = s.within(runes, most); distance > most {
				continue
			}
		}
		at, _ := slices.BinarySearchFunc(found, distance, func(f scored, d int) int {
			if f.distance <= d {
				return -1 // behind those equally near
			}
			return 1
		})
		found = slices.Insert(found, at, scored{candidate, distance})
		found = found[:min(n, len(found))]
	}
	for _, f := range found {
		names = append(names, f.name)
	}
	return names, s.work
}

// A search measures candidates against one name, in rows that it reuses.
type search struct {
	name []rune
	row  []int
	work int // cells computed
}

// within is the distance of other if that is at most most, and more than most if
// not. It computes only the cells that can lie on a path of that length.
func (s *search) within(other []rune, most int) int {
	s.row = s.row[:0]
	for j := range len(other) + 1 {
		s.row = append(s.row, j)
	}
	far := most + 1
	for i, r := range s.name {
		from, to := max(0, i-most), min(len(other), i+most+1)
		diagonal := far
		if from == 0 {
			diagonal, s.row[0] = s.row[0], i+1
		} else {
			diagonal, s.row[from] = s.row[from], far
		}
		least := s.row[from]
		for j := from; j < to; j++ {
			replace := diagonal
			if r != other[j] {
				replace++
			}
			above := s.row[j+1]
			if j == i+most { // outside the band of the row before
				above = far
			}
			diagonal = s.row[j+1]
			s.row[j+1] = min(replace, s.row[j]+1, above+1)
			least = min(least, s.row[j+1])
			s.work++
		}
		if least > most {
			return far
		}
	}
	return s.row[len(other)]
}

// letterCounts counts how often each letter occurs, with rare ones thrown together.
type letterCounts [32]int8

func countLetters(runes []rune) (c letterCounts) {
	for _, r := range runes {
		c[r%32]++
	}
	return c
}

// distance is at most the distance of the words.
func (c letterCounts) distance(other letterCounts) int {
	var more, less int
	for i := range c {
		if d := int(c[i]) - int(other[i]); d > 0 {
			more += d
		} else {
			less -= d
		}
	}
	return max(more, less)
}

var separators = strings.NewReplacer("-", "", "_", "", ".", "")

// fold removes the differences between spellings of one name: case, '-', '_', '.'.
func fold(name string) string { return separators.Replace(strings.ToLower(name)) }

// Distance counts the letters to insert, delete or replace to make one word of
// the other. Its cost is the product of their lengths: bound the length of
// untrusted words.
func Distance(a, b string) int {
	s, other := search{name: []rune(a)}, []rune(b)
	return s.within(other, max(len(s.name), len(other)))
}

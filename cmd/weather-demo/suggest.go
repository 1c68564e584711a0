package main

import (
	"fmt"
	"strings"
)

// unknown says that a word is not one of those known, and which was likely
// meant.
func unknown(what, word string, known []string) string {
	best, distance := "", len(word)/2+2
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("no %s %q; did you mean %q?", what, word, best)
	}
	return fmt.Sprintf("no %s %q; there is %s", what, word, strings.Join(known, ", "))
}

// editDistance counts the letters to insert, delete or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

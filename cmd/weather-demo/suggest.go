package main

import (
	"fmt"
	"strings"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// unknown says that a word is not one of those known, and which was likely
// meant.
func unknown(what, word string, known []string) string {
	best, distance := "", len(word)/2+2
	for _, k := range known {
		if d := spelling.Distance(strings.ToLower(word), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("no %s %q; did you mean %q?", what, word, best)
	}
	return fmt.Sprintf("no %s %q; there is %s", what, word, strings.Join(known, ", "))
}

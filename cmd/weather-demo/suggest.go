package main

import (
	"fmt"
	"strings"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// unknown is the message for a word that is not a known one. It suggests the
// nearest, or lists them all if none is near.
func unknown(kind, word string, known []string) string {
	best, distance := "", len(word)/2+2
	for _, k := range known {
		if d := spelling.Distance(strings.ToLower(word), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("no %s %q; did you mean %q?", kind, word, best)
	}
	return fmt.Sprintf("no %s %q; use one of %s", kind, word, strings.Join(known, ", "))
}

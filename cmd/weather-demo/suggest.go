package main

import (
	"fmt"
	"strings"

	"github.com/mrtr-go/sdk/internal/spelling"
)

// unknown is the message for a word that is not a known one. It suggests the
// nearest that the word could be a misspelling of, or else lists them all.
func unknown(kind, word string, known []string) string {
	if near := spelling.Nearest(word, known, 1); len(near) > 0 {
		return fmt.Sprintf("no %s %q; did you mean %q?", kind, word, near[0])
	}
	return fmt.Sprintf("no %s %q; use one of %s", kind, word, strings.Join(known, ", "))
}

package mrtr_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each word that the package's documentation begins with has an example.
func TestEveryWordHasAnExample(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var examples strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		examples.Write(text)
	}
	shownBy := map[string]string{ // whose example has the word in it
		"Runtime": "New", "Style": "Native", "Reason": "Error", "Declined": "Error_declined", "Add": "Stop",
	}
	words := regexp.MustCompile(`\[([A-Z][A-Za-z0-9.]*)\]`).FindAllStringSubmatch(string(doc), -1)
	require.NotEmpty(t, words)
	for _, w := range words {
		word := cmp.Or(shownBy[w[1]], strings.ReplaceAll(w[1], ".", "_"))
		require.True(t, regexp.MustCompile(`\nfunc Example`+word+`(_[a-z]\w*)?\(`).MatchString(examples.String()), "%s has no example", w[1])
	}
}

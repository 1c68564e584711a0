package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every Go block in a document names the file it was taken from, in a comment
// above it, and stands in that file word for word. So every block was compiled,
// and the file is one whose tests run.
func TestGoBlocksInTheDocsAreCompiledCode(t *testing.T) {
	docs, err := filepath.Glob("*.md")
	require.NoError(t, err)
	inDocs, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	docs = append(docs, inDocs...)
	require.Contains(t, docs, "README.md")
	block := regexp.MustCompile("(?s)(?:<!-- from (\\S+) -->\n)?```go\n(.*?)```")
	behindText := regexp.MustCompile("(?m)^[^`\n]+```.*$") // does not end a block: the rest of the page is code
	blocks := 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		require.Emptyf(t, behindText.FindAllString(string(text), -1), "%s: a fence has its line to itself", doc)
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			blocks++
			require.NotEmptyf(t, m[1], "%s: a Go block that names no file:\n%s", doc, m[2])
			source, err := os.ReadFile(m[1])
			require.NoError(t, err)
			require.Containsf(t, unindented(string(source)), unindented(m[2]), "%s: this block is not in %s", doc, m[1])
		}
	}
	require.NotZero(t, blocks)
}

// unindented removes the indentation, which differs between a block and its
// source.
func unindented(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// A relative link in a document leads to a file that exists.
func TestLinksInTheDocsLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^):#]*)(?:#([^)]*))?\)`)
	docs, err := filepath.Glob("*.md")
	require.NoError(t, err)
	inDocs, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	links, anchors := 0, 0
	for _, doc := range append(docs, inDocs...) {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			links++
			to := doc
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(doc), m[1])
			}
			_, err := os.Stat(to)
			require.NoErrorf(t, err, "%s links to %s", doc, m[1])
			if m[2] != "" {
				anchors++
				require.Containsf(t, headings(t, to), m[2], "%s links to %s#%s", doc, m[1], m[2])
			}
		}
	}
	require.NotZero(t, links)
	require.NotZero(t, anchors)
}

// headings are the anchors of a page, as GitHub makes them.
func headings(t *testing.T, page string) (anchors []string) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		anchor := regexp.MustCompile(`[^\w \-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors = append(anchors, strings.ReplaceAll(anchor, " ", "-"))
	}
	return anchors
}

// The documents name files by their path from the top of the module.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// The code in a package's comment stands in a file of its tests, word for word.
func TestCodeInPackageCommentsIsCompiled(t *testing.T) {
	for _, c := range []struct {
		comment, compiled string
		blocks            int
	}{
		{"mrtr/mrtrtest/doc.go", "mrtr/mrtrtest/example_test.go", 2},
		{"prove/provetest/provetest.go", "prove/provetest/desk_test.go", 1},
	} {
		source, err := os.ReadFile(c.comment)
		require.NoError(t, err)
		comment, _, _ := strings.Cut(string(source), "\npackage ")
		compiled, err := os.ReadFile(c.compiled)
		require.NoError(t, err)
		blocks := regexp.MustCompile(`(?m)(?:^//\t.*\n)+`).FindAllString(comment, -1)
		require.Len(t, blocks, c.blocks, c.comment)
		for _, block := range blocks {
			require.Contains(t, unindented(string(compiled)), unindented(strings.ReplaceAll(block, "//\t", "")), c.comment)
		}
	}
}

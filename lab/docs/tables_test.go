package docs_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

var update = flag.Bool("update", false, "write the computed tables of the documents anew")

// tables are the computed blocks of the documents, by the name in the comments around each:
// <!-- cost:begin --> and <!-- cost:end -->.
var tables = map[string]map[string]func(*testing.T) string{
	"docs/styles.md": {"quadrant": quadrantTable, "duplicates": duplicatesTable, "cost": costTable},
	"docs/boundary.md": {
		"endings":      outputOf("boundary/example_endings_test.go", "Example_endings"),
		"batch":        outputOf("boundary/example_batch_test.go", "ExampleEach"),
		"conversation": outputOf("boundary/transcript_test.go", "Example_conversation"),
	},
}

func TestTablesInTheDocsAreComputed(t *testing.T) {
	require.NotEmpty(t, tables)
	for document, computed := range tables {
		raw, err := os.ReadFile(document)
		require.NoError(t, err)
		text := string(raw)
		shown := regexp.MustCompile(`<!-- (\w+):begin -->\n`).FindAllStringSubmatch(text, -1)
		require.Len(t, shown, len(computed), document)
		for _, m := range shown {
			require.Contains(t, computed, m[1], document)
			_, rest, _ := strings.Cut(text, m[0])
			block, _, ended := strings.Cut(rest, "<!-- "+m[1]+":end -->")
			require.True(t, ended, "the block %s of %s has no end", m[1], document)
			want := "```text\n" + strings.Trim(computed[m[1]](t), "\n") + "\n```\n"
			if *update {
				text = strings.Replace(text, m[0]+block, m[0]+want, 1)
				require.NoError(t, os.WriteFile(document, []byte(text), 0o644))
				continue
			}
			require.Equal(t, want, block, "%s; if it should be so: go test ./docs -run TestTables -update", document)
		}
	}
}

// outputOf is the output of an executable example, as its comment has it.
func outputOf(file, example string) func(*testing.T) string {
	return func(t *testing.T) string {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		_, body, found := strings.Cut(string(raw), "\nfunc "+example+"() {\n")
		require.True(t, found, "%s has no %s", file, example)
		body, _, _ = strings.Cut(body, "\n}\n")
		_, output, found := strings.Cut(body, "\t// Output:\n")
		require.True(t, found, "%s of %s has no output", example, file)
		return regexp.MustCompile(`(?m)^\t// ?`).ReplaceAllString(output, "")
	}
}

// figures puts the figures of several calls side by side.
func figures[T any](calls []T, figure func(T) int) string {
	var each []string
	for _, c := range calls {
		each = append(each, fmt.Sprint(figure(c)))
	}
	return strings.Join(each, " / ")
}

// connected is a client of a server in memory with the tools that register adds.
func connected(t *testing.T, opts *mrtr.Options, register func(*mcp.Server, *mrtr.Runtime)) *wire.Client {
	t.Helper()
	rt, err := mrtr.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	register(server, rt)
	client, err := wire.Connect(t.Context(), server, nil)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

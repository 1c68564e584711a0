package vet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/mrtr-go/sdk/prove/cmd/mrtr/internal/vet"
)

// Every analyzer judges every package of the test data, so that the cases of one
// are also the other seven's cases without a finding.
func TestAnalyzers(t *testing.T) {
	require.Len(t, vet.Analyzers, 8)
	require.NoError(t, analysis.Validate(vet.Analyzers))
	results := analysistest.Run(t, analysistest.TestData(), together(vet.Analyzers), "./...")

	found := map[string]int{}
	for _, result := range results {
		for _, d := range result.Diagnostics {
			found[d.Category]++
		}
	}
	for _, a := range vet.Analyzers {
		require.NotZero(t, found[a.Name], "nothing tests that %s finds anything", a.Name)
		cases, err := filepath.Glob(filepath.Join("testdata", a.Name, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, cases, a.Name)
	}
}

// together runs analyzers as one, so that their test data is loaded once.
func together(analyzers []*analysis.Analyzer) *analysis.Analyzer {
	all := &analysis.Analyzer{Name: "all", Doc: "all analyzers at once"}
	for _, a := range analyzers {
		all.Requires = append(all.Requires, a.Requires...)
	}
	all.Run = func(pass *analysis.Pass) (any, error) {
		for _, a := range analyzers {
			one := *pass
			one.Analyzer = a
			one.Report = func(d analysis.Diagnostic) {
				d.Category = a.Name
				pass.Report(d)
			}
			if _, err := a.Run(&one); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return all
}

// docs/vet.md describes each analyzer in the words of the command, and in the same
// order. The analyzers' URLs point to its headings.
func TestDocsSayWhatHelpSays(t *testing.T) {
	text, err := os.ReadFile("../../../../../docs/vet.md")
	require.NoError(t, err)
	var sections strings.Builder
	for _, a := range vet.Analyzers {
		sections.WriteString("\n## " + a.Name + "\n\n" + a.Doc + "\n")
		require.True(t, strings.HasSuffix(a.URL, "/docs/vet.md#"+a.Name), a.URL)
	}
	require.True(t, strings.HasSuffix(string(text), sections.String()), "the end of docs/vet.md should be:\n%s", sections.String())
}

package vet_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/mrtr-go/sdk/cmd/mrtr/internal/vet"
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

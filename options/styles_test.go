package options_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
)

// The handlers of two styles differ in the statements listed here. All others are
// the same, in the same order, word for word.
func TestOptionsDifferOnlyWhereStylesDiffer(t *testing.T) {
	const onced = `_, err = mrtr.Once(ctx, c, "audit", func(context.Context, string) (bool, error) { audit.Record(place) return true, nil })`
	cases := []struct {
		left, right         string // file and function
		onlyLeft, onlyRight []string
		explanation         string
	}{
		{"native.go guarded", "once.go remembering",
			[]string{"audit.Record(place)"}, []string{onced, "if err != nil { return nil, Report{}, err }"},
			"F is E with the audit in Once, between the questions"},
		{"native.go guarded", "version_branch.go branching",
			nil, []string{"if !c.Modern() { place, err := which.AskOver(ctx, c.Session()) if err != nil { return nil, Report{}, err } " +
				"units, err := Units.AskOver(ctx, c.Session()) if err != nil { return nil, Report{}, err } audit.Record(place) return nil, NewReport(place, units), nil }"},
			"C is E with a branch"},
		{"native.go guarded", "two_handlers.go waiting",
			[]string{"place, ok := mrtr.Answer(c, which)", "if !ok { return mrtr.Need(which), Report{}, nil }", "units, ok := mrtr.Answer(c, Units)", "if !ok { return mrtr.Need(Units), Report{}, nil }"},
			[]string{"place, err := which.AskOver(ctx, c.Session())", "if err != nil { return nil, Report{}, err }", "units, err := Units.AskOver(ctx, c.Session())", "if err != nil { return nil, Report{}, err }"},
			"the legacy handler of D waits where E returns"},
		{"native.go guarded", "landmine/naive.go naive",
			[]string{"audit.Record(place)"}, []string{"audit.Record(place)"},
			"N is E with the same line in another place"},
		{"coroutine.go reading", "landmine/await.go bare",
			[]string{onced, "if err != nil { return Report{}, err }"}, []string{"audit.Record(place)"},
			"B is H and J without Once"},
		{"coroutine.go reading", "landmine/lesson.go inOnce", nil, nil, "the lesson runs the function of H and J"},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			left, right := statements(t, c.left), statements(t, c.right)
			onlyLeft, onlyRight := without(left, right)
			require.Equal(t, c.onlyLeft, onlyLeft, "only in %s", c.left)
			require.Equal(t, c.onlyRight, onlyRight, "only in %s", c.right)
		})
	}
}

// The file of a style holds the handler alone: functions, and no strings but
// keys. The weather and the texts of the questions are shared by all styles. Its
// doc comment says when to choose the style and how much it costs.
func TestOptionFilesHoldTheHandlerAlone(t *testing.T) {
	keys := []string{"place", "units", "audit"}
	require.Len(t, options.All, 9)
	for _, o := range options.All {
		t.Run(o.Name, func(t *testing.T) {
			file := parse(t, o.Name+".go")
			documented := false
			for _, d := range file.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Name.IsExported() {
						documented = true
						doc := strings.Join(strings.Fields(d.Doc.Text()), " ")
						require.True(t, strings.HasPrefix(doc, d.Name.Name+" is style "+o.Letter+":"), doc)
						require.Contains(t, doc, "Choose it")
						require.Contains(t, doc, "costs")
					}
				case *ast.GenDecl:
					require.Equal(t, token.IMPORT, d.Tok, "a declaration that is no function")
				}
			}
			require.True(t, documented)
			ast.Inspect(file, func(n ast.Node) bool {
				if _, ok := n.(*ast.ImportSpec); ok {
					return false
				}
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					require.Contains(t, keys, text)
				}
				return true
			})
		})
	}
}

// Programs look a style up by its letter, its name and the name of its tool.
func TestCatalogs(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range slices.Concat(options.All, landmine.All) {
		require.False(t, seen[o.Letter] || seen[o.Name], o.Name)
		seen[o.Letter], seen[o.Name] = true, true
		require.Equal(t, "weather_"+o.Name, o.Tool())
		require.NotEmpty(t, o.Lesson)
		require.NotNil(t, o.New)
	}
	require.Len(t, seen, 2*(9+2))
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	require.NoError(t, err)
	return file
}

// statements are those of the function that "file function" returns, each on
// one line, and without the package's name where another package uses it.
func statements(t *testing.T, where string) []string {
	t.Helper()
	path, name, _ := strings.Cut(where, " ")
	var list []string
	for _, d := range parse(t, path).Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != name {
			continue
		}
		returned := f.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.FuncLit)
		for _, s := range returned.Body.List {
			var b bytes.Buffer
			require.NoError(t, printer.Fprint(&b, token.NewFileSet(), s))
			list = append(list, strings.ReplaceAll(strings.Join(strings.Fields(b.String()), " "), "options.", ""))
		}
	}
	require.NotEmpty(t, list, where)
	return list
}

// without takes the longest common subsequence out of two lists and returns the
// rest of each.
func without(left, right []string) (onlyLeft, onlyRight []string) {
	common := make([][]int, len(left)+1)
	for i := range common {
		common[i] = make([]int, len(right)+1)
	}
	for i, l := range slices.Backward(left) {
		for j, r := range slices.Backward(right) {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if l == r {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(left) && j < len(right) {
		switch {
		case left[i] == right[j]:
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			onlyLeft = append(onlyLeft, left[i])
			i++
		default:
			onlyRight = append(onlyRight, right[j])
			j++
		}
	}
	return append(onlyLeft, left[i:]...), append(onlyRight, right[j:]...)
}

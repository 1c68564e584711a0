package options_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
)

// The files of two styles differ in their heads and in the lines listed here. All others are
// the same, in the same order.
func TestOptionsDifferOnlyWhereStylesDiffer(t *testing.T) {
	const (
		guarded = "mrtr.Native(func(ctx context.Context, c *mrtr.Call, q Query) (*mrtr.IncompleteResult, Report, error) {"
		linearF = "(func(ctx context.Context, c *mrtr.Call, q Query) (Report, error) {"
		charge  = "card.Charge(place)"
		end     = "}), &mrtr.HandlerOptions{Needs: Always})"
	)
	failed := []string{"if err != nil {", "return nil, Report{}, err", "}"}
	waiting := slices.Concat([]string{"place, err := which.AskOver(ctx, c.Session()) // waits: a legacy client has one request"}, failed,
		[]string{"units, err := Units.AskOver(ctx, c.Session())"}, failed, []string{charge, "return nil, NewReport(place, units), nil"})
	cases := []struct {
		left, right         string
		onlyLeft, onlyRight []string
		explanation         string
	}{
		{"native.go", "naive.go", []string{charge}, []string{charge}, "N is E with the same line in another place"},
		{"native.go", "once.go", []string{charge},
			append([]string{`_, err = mrtr.Once(ctx, c, "charge", func(context.Context, string) (bool, error) { // once, whatever runs again`, charge, "return true, nil", "})"}, failed...),
			"F is E with the charge in Once, between the questions"},
		{"native.go", "sse_shim.go",
			[]string{"return mrtr.Tool(rt, " + guarded, end},
			[]string{"return sse.Bridge(mrtr.Tool(rt, " + guarded, "}), &mrtr.HandlerOptions{Needs: Always, Legacy: mrtr.LegacyPassThrough}), nil)"},
			"A is E in a bridge"},
		{"native.go", "version_branch.go", nil, slices.Concat([]string{"if !c.Modern() {"}, waiting, []string{"}"}), "C is E with a branch"},
		{"native.go", "two_handlers.go",
			[]string{"return mrtr.Tool(rt, " + guarded, end},
			slices.Concat([]string{"return mrtr.Tool(rt, mrtr.ByVersion(" + guarded, "}), " + guarded, "which, err := WhichPlace(q.Location)"}, failed, waiting,
				[]string{"})), &mrtr.HandlerOptions{Needs: Always})"}),
			"D is E beside a handler that waits"},
		{"coroutine.go", "journal.go", []string{"return mrtr.Tool(rt, linear.Coroutine" + linearF}, []string{"return mrtr.Tool(rt, linear.Journal" + linearF}, "H and J differ in a word"},
		{"coroutine.go", "resumable.go", []string{"return mrtr.Tool(rt, linear.Coroutine" + linearF}, []string{"return mrtr.Tool(rt, linear.Resumable" + linearF}, "and so does HJ"},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			left, right := lines(t, c.left), lines(t, c.right)
			onlyLeft, onlyRight := without(t, body(t, left), body(t, right))
			require.Equal(t, c.onlyLeft, onlyLeft, "only in %s", c.left)
			require.Equal(t, c.onlyRight, onlyRight, "only in %s", c.right)
			wholeLeft, wholeRight := without(t, left, right)
			heads := len(wholeLeft) + len(wholeRight) - len(onlyLeft) - len(onlyRight)
			require.LessOrEqual(t, heads, 3, "plain diff shows their names, and an import")
		})
	}
}

// The file of a style holds the handler alone: functions, and no strings but
// keys. The weather and the texts of the questions are shared by all styles. What would be
// its doc comment is in the catalog, since diff would show it.
func TestOptionFilesHoldTheHandlerAlone(t *testing.T) {
	keys := []string{"place", "units", "charge"}
	require.Len(t, options.All, 9)
	for _, o := range options.All {
		t.Run(o.Name, func(t *testing.T) {
			file := parse(t, o.Name+".go")
			for _, d := range file.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					require.Nil(t, d.Doc)
				case *ast.GenDecl:
					require.Equal(t, token.IMPORT, d.Tok, "a declaration that is no function")
				}
			}
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

func lines(t *testing.T, path string) []string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(string(content), "\n")
}

// body are the lines of a file's one function, below its head.
func body(t *testing.T, file []string) []string {
	t.Helper()
	head := func(line string) bool { return strings.HasPrefix(line, "func ") }
	at := slices.IndexFunc(file, head)
	require.NotEqual(t, -1, at)
	require.False(t, slices.ContainsFunc(file[at+1:], head), "it has one function")
	return file[at+1:]
}

// without takes the longest common subsequence out of two lists and returns the
// rest of each.
func without(t *testing.T, left, right []string) (onlyLeft, onlyRight []string) {
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
			onlyLeft = append(onlyLeft, strings.TrimSpace(left[i]))
			i++
		default:
			onlyRight = append(onlyRight, strings.TrimSpace(right[j]))
			j++
		}
	}
	require.Equal(t, len(left)-i, len(right)-j, "both end with the same line")
	return onlyLeft, onlyRight
}

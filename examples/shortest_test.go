package examples

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// The shortest form of the order: straight-line code that asks with functions which wait for
// the user, and returns errors as they are. No client of revision 2026-07-28 can be asked that
// way. It takes the same steps as the handlers, whose lines are compared with its own.

func orderShortest(ctx context.Context, u *atTheDesk, in Order) (out Shipment, err error) {
	if err = checked(in); err != nil {
		return out, err
	}
	reservation, err := reserve(in)(ctx, "")
	if err != nil {
		return out, err
	}
	defer undo(&err, func() { release(reservation) })
	var p parcel
	if p.project, err = u.projects(); err != nil {
		return out, err
	}
	for _, item := range in.Items {
		chosen, err := u.size(item)
		if err != nil {
			return out, err
		}
		p.sizes = append(p.sizes, chosen+" "+item)
	}
	if p.to, err = u.address(); err != nil {
		return out, err
	}
	if p.note, err = u.note(); err != nil {
		return out, err
	}
	if p.greeting, err = u.greeting(); err != nil {
		return out, err
	}
	if err = u.payment(); err != nil {
		return out, err
	}
	return ship(p)(ctx, "")
}

// undo runs at the end of a function that fails.
func undo(err *error, f func()) {
	if *err != nil {
		f()
	}
}

// atTheDesk is a user who answers at once, and pays or does not.
type atTheDesk struct{ pays bool }

func (u *atTheDesk) projects() (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []*mcp.Root{{URI: "file:///home/user/kitchen", Name: "kitchen"}}}, nil
}

func (u *atTheDesk) size(item string) (string, error) {
	return map[string]string{"chair": "S", "table": "L"}[item], nil
}
func (u *atTheDesk) address() (Address, error) {
	return Address{Name: "Ann", Email: "ann@example.org"}, nil
}
func (u *atTheDesk) note() (*string, error)    { return nil, nil }
func (u *atTheDesk) greeting() (string, error) { return "Hello", nil }
func (u *atTheDesk) payment() error {
	if !u.pays {
		return fmt.Errorf(`Stopped: "payment" was declined.`)
	}
	return nil
}

// The shortest form has the same effects and results as the handler in ExampleOrderLinear.
func Example_shortest() {
	for _, pays := range []bool{true, false} {
		shipped, err := orderShortest(context.Background(), &atTheDesk{pays}, Order{Items: []string{"chair", "table"}})
		fmt.Println(shipped, err)
	}
	// Output:
	// (reserved chair, table)
	// (shipped)
	// {Hello Ann: S chair, L table, for kitchen} <nil>
	// (reserved chair, table)
	// (released R1)
	// {} Stopped: "payment" was declined.
}

// No handler is more than ten lines longer than the shortest form, and docs/styles.md gives
// the length of each.
func TestTheHandlersAreNearlyAsShortAsTheirToolCanBe(t *testing.T) {
	const most = 10
	shortest := linesOf(t, "shortest_test.go", "orderShortest")
	table := "```text\n  shortest form  native  once  linear  steps  given\n" + fmt.Sprintf("  %13d", shortest)
	for _, style := range []string{"Native", "Once", "Linear", "Steps", "Given"} {
		lines := linesOf(t, "order_styles.go", "Order"+style)
		table += fmt.Sprintf("  %*d", len(style), lines)
		require.LessOrEqual(t, lines, shortest+most, style)
	}
	table += "\n```\n"
	docs, err := os.ReadFile("../docs/styles.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(docs), table), "docs/styles.md has not\n%s", table)
}

// widest is how long a line may be that counts as one.
const widest = 140

// linesOf counts the lines of a function's body that have code on them.
func linesOf(t *testing.T, file, function string) int {
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, 0)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		text := strings.Split(string(source), "\n")
		lines, code := 0, withCode(source)
		for n := files.Position(f.Body.Lbrace).Line + 1; n < files.Position(f.Body.Rbrace).Line; n++ {
			if code[n] {
				lines++
				require.LessOrEqual(t, len(strings.ReplaceAll(text[n-1], "\t", "    ")), widest, "%s:%d hides lines in its width", file, n)
			}
		}
		require.NotZero(t, lines, function)
		return lines
	}
	t.Fatalf("%s has no function %s", file, function)
	return 0
}

// withCode are the numbers of the lines that have a token.
func withCode(source []byte) map[int]bool {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0) // comments are left out
	found := map[int]bool{}
	for {
		at, tok, text := s.Scan()
		if tok == token.EOF {
			return found
		}
		if tok == token.SEMICOLON && text == "\n" { // put in at the end of a line
			continue
		}
		first := files.Position(at).Line
		for n := range strings.Count(text, "\n") + 1 {
			found[first+n] = true
		}
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryStyleHasASource(t *testing.T) {
	require.NotEmpty(t, everyStyle())
	for _, o := range everyStyle() {
		src, err := sourceOf(o)
		require.NoError(t, err)
		require.Contains(t, src.doc, o.Letter+":", "%s has a doc comment", src.file)
		require.Equal(t, "func New(rt *mrtr.Runtime, audit *Audit) Handler {", src.code[0], src.file)
		code := strings.Join(src.code, "\n")
		require.Contains(t, code, "\nfunc handler(audit *Audit) ", "%s shows its handler in full", src.file)
		require.NotContains(t, code, "options.", src.file)
	}
}

// The lines in which two styles differ are the argument, so that they are fixed
// here word for word.
func TestCompareShowsWhatStylesDifferIn(t *testing.T) {
	cases := []struct {
		left, right         string
		onlyLeft, onlyRight []string
		explanation         string
	}{
		{"E", "A",
			[]string{"return mrtr.Tool(rt, mrtr.Native(handler(audit)), &mrtr.HandlerOptions{Needs: Always})"},
			[]string{"return sse.Bridge(mrtr.Tool(rt, mrtr.Native(handler(audit)), &mrtr.HandlerOptions{Needs: Always, Legacy: mrtr.LegacyPassThrough}), nil)"},
			"the same handler inside sse.Bridge"},
		{"H", "J",
			[]string{"return mrtr.Tool(rt, mrtr.Coroutine(handler(audit)), &mrtr.HandlerOptions{Needs: Always})"},
			[]string{"return mrtr.Tool(rt, mrtr.Journal(handler(audit)), &mrtr.HandlerOptions{Needs: Always})"},
			"one word"},
		{"E", "F",
			[]string{"audit.Record(place)"},
			[]string{`_, err = mrtr.Once(ctx, c, "audit", func(context.Context, string) (bool, error) {`, "audit.Record(place)", "return true, nil", "})", "if err != nil {", "return nil, Report{}, err", "}"},
			"one call moved up, and into Once"},
		{"E", "N",
			[]string{"audit.Record(place)"},
			[]string{"audit.Record(place) // above a guard: again in each later round"},
			"the same line above a guard"},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.left+" "+c.right, func(t *testing.T) {
			left, right := codeOf(t, c.left), codeOf(t, c.right)
			var onlyLeft, onlyRight []string
			for _, p := range align(left, right) {
				if p.same() {
					continue
				}
				if p.left != nil {
					onlyLeft = append(onlyLeft, strings.TrimSpace(*p.left))
				}
				if p.right != nil {
					onlyRight = append(onlyRight, strings.TrimSpace(*p.right))
				}
			}
			require.Equal(t, c.onlyLeft, onlyLeft, c.explanation)
			require.Equal(t, c.onlyRight, onlyRight, c.explanation)
		})
	}
}

func codeOf(t *testing.T, letter string) []string {
	t.Helper()
	o, err := findStyle(letter)
	require.NoError(t, err)
	src, err := sourceOf(o)
	require.NoError(t, err)
	return src.code
}

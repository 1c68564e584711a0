package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
)

func TestLayoutChangesNothingButWhiteSpace(t *testing.T) {
	long := `"` + strings.Repeat("ab ", 40) + `"`
	tests := []string{
		`{}`, `[]`, `null`, `"a"`, `-1.50`, `[1,[2,{"a":[]}],"x"]`,
		`{"b":1,"a":{"z":true,"é \"quoted\"":null}}`,
		`{"long":` + long + `,"list":[` + long + `,` + long + `],"empty":{}}`,
	}
	for _, raw := range tests {
		got := layout(json.RawMessage(raw), "    ", nil)
		require.JSONEq(t, raw, got)
		for _, line := range strings.Split(got, "\n") {
			if !strings.Contains(line, "ab ab") {
				require.LessOrEqual(t, utf8.RuneCountInString(line), lineWidth)
			}
		}
	}
	require.Equal(t, `{"b": 1, "a": [1, 2]}`, layout(json.RawMessage(`{"b":1,"a":[1,2]}`), "", nil), "one line, members in their order")
}

func TestAlignKeepsBothTexts(t *testing.T) {
	tests := []struct{ left, right, shared string }{
		{"", "", ""},
		{"a b c", "a b c", "a b c"},
		{"a b c", "", ""},
		{"", "a b", ""},
		{"a x c d", "a y z c", "a c"},
		{"x y", "p q r", ""},
		{"f g h f", "g f", "g f"},
	}
	for _, tt := range tests {
		var left, right, shared []string
		for _, p := range weather.Align(strings.Fields(tt.left), strings.Fields(tt.right), func(a, b string) bool { return a == b }) {
			if p.Left != nil {
				left = append(left, *p.Left)
			}
			if p.Right != nil {
				right = append(right, *p.Right)
			}
			if p.Same {
				shared = append(shared, *p.Left)
			}
		}
		require.Equal(t, tt.left, strings.Join(left, " "))
		require.Equal(t, tt.right, strings.Join(right, " "))
		require.Equal(t, tt.shared, strings.Join(shared, " "))
	}
}

func TestWrap(t *testing.T) {
	tests := []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"a\nb", 7, []string{"a", "b"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"a abcdef b", 4, []string{"a", "abcd", "ef b"}},
		{"éé éé", 5, []string{"éé éé"}},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, wrap(tt.text, tt.width), tt.text)
	}
}

func TestBasicShowsTheHandlerThatRuns(t *testing.T) {
	source, err := os.ReadFile("../../options/basic.go")
	require.NoError(t, err)
	_, code, _ := strings.Cut(basicIntro, "\n\n")
	code = strings.TrimSpace(code)
	require.Contains(t, code, "mrtr.Answer(")
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	require.Contains(t, words(string(source)), words(code))
}

// runsOf decodes the output of -json without the types that printed it.
func runsOf(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	got := weatherDemo(t, "", append(args, "-json")...)
	require.Zero(t, got.status, got.stderr)
	require.Empty(t, got.stderr)
	var printed map[string][]map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &printed))
	require.Len(t, printed, 1, "one object, with runs")
	require.NotEmpty(t, printed["runs"])
	return printed["runs"]
}

func TestJSONHasARunForEachStyleEraAndPlace(t *testing.T) {
	seen := map[string]int{}
	for _, r := range runsOf(t) {
		seen[fmt.Sprint(r["letter"], " ", r["style"], " ", r["era"], " ", r["location"])]++
	}
	styles := []string{
		"E native", "A sse_shim", "C version_branch", "D two_handlers", "F once",
		"G steps", "H coroutine", "J journal", "K given", "B await", "N naive",
	}
	for _, style := range styles {
		for _, era := range []string{"modern", "legacy"} {
			for _, location := range []string{"Lisbon", "Springfield"} {
				require.Equal(t, 1, seen[style+" "+era+" "+location], "%s %s %s", style, era, location)
			}
		}
	}
	require.Len(t, seen, len(styles)*2*2)
}

func TestJSONShape(t *testing.T) {
	shape := map[string]reflect.Kind{
		"style": reflect.String, "letter": reflect.String, "era": reflect.String, "location": reflect.String,
		"rounds": reflect.Float64, "questions": reflect.Slice, "text": reflect.String, "structured": reflect.Map,
		"is_error": reflect.Bool, "effects": reflect.Float64, "handler_entries": reflect.Float64, "state_bytes": reflect.Float64,
	}
	for _, r := range runsOf(t) {
		require.Len(t, r, len(shape), "fields of %v", r)
		for name, kind := range shape {
			if name == "structured" && r["is_error"] == true {
				require.Nil(t, r[name], "an error has no structured content")
				continue
			}
			require.Equal(t, kind, reflect.ValueOf(r[name]).Kind(), "%s of %v", name, r)
		}
	}
}

func TestJSONIsNarrowed(t *testing.T) {
	tests := []struct {
		args string
		runs int
	}{
		{"-style E", 4},
		{"-style weather_steps -era legacy", 2},
		{"-location Tokyo", 22},
		{"-style journal -era modern -location Reykjavik", 1},
	}
	for _, tt := range tests {
		require.Len(t, runsOf(t, strings.Fields(tt.args)...), tt.runs, tt.args)
	}
}

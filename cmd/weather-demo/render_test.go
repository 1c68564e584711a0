package main

import (
	"encoding/json"
	"os"
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

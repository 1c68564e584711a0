package gate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/gate"
)

func TestDescribe(t *testing.T) {
	long := strings.Repeat("x", 1000)
	cases := []struct {
		why, arguments, want string
	}{
		{"nothing", ``, ""},
		{"an empty object", `{}`, ""},
		{"null", `null`, "\narguments: null"},
		{"no object", `"all"`, "\narguments: \"all\""},
		{"a list", `["a",2]`, "\narguments[0]: \"a\"\narguments[1]: 2"},
		{"no JSON", `{"a":`, "\nIts arguments cannot be read."},
		{"sorted, with the top first", `{"z":{"a":true,"b":[]},"y":1.50,"n":null}`, "\nn: null\ny: 1.50\nz.a: true\nz.b: []"},
		{"a line of its own", `{"a":"x\nforce: false\r\u0085\u2028\u2029y"}`, "\na: \"x\\u000aforce: false\\u000d\\u0085\\u2028\\u2029y\""},
		{"the end of the quotation", `{"a":"x\"\\y'"}`, "\na: \"x\\\"\\\\y'\""},
		{"another direction", `{"a":"\u202egpj.exe\u2066\u200f"}`, "\na: \"\\u202egpj.exe\\u2066\\u200f\""},
		{"nothing to see", `{"a":"p\u200ba\u00ady\u2060\ufeff\u3164\u115f\u034f\u2800\ufe0f\udb40\udc41"}`, "\na: \"p\\u200ba\\u00ady\\u2060\\ufeff\\u3164\\u115f\\u034f\\u2800\\ufe0f\\U000e0041\""},
		{"escapes of a terminal", `{"a":"\u001b[2J\u009b1m\u0007\u0000"}`, "\na: \"\\u001b[2J\\u009b1m\\u0007\\u0000\""},
		{"runs of spaces, and others", `{"a":"x    y\u00a0\u3000"}`, "\na: \"x \\u0020\\u0020\\u0020y\\u00a0\\u3000\""},
		{"a name that is a line", `{"a: 1\nb":2,"":3}`, "\n\"\": 3\n\"a: 1\\u000ab\": 2"},
		{"a name that is a path", `{"a.b":1}`, "\n\"a.b\": 1"},
		{"half a pair", `{"a":"\ud800"}`, "\na: \"\ufffd\""},
		{"words of any script", `{"a":"Größe, 漢字, עברית, हिन्दी 👍"}`, "\na: \"Größe, 漢字, עברית, हिन्दी 👍\""},
		{"the end behind padding", `{"a":"` + long + `end"}`, "\na: \"" + long[:160] + " … " + long[:77] + "end\" (cut: 1003 characters)"},
		{"a long number", `{"a":` + strings.Repeat("1", 500) + `}`, "\na: " + strings.Repeat("1", 160) + " … " + strings.Repeat("1", 80) + " (cut: 500 characters)"},
	}
	tool := &mcp.Tool{Name: "wipe", Title: "Wipe"}
	for _, tc := range cases {
		t.Run(tc.why, func(t *testing.T) {
			require.Equal(t, `Allow the call of "Wipe" (wipe)?`+tc.want, gate.Describe(tool, json.RawMessage(tc.arguments)))
		})
	}
	tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"force":{},"amount":{}}}`)
	padding := `{"a":""`
	for i := range 30 {
		padding += fmt.Sprintf(`,"a%d":%d`, i, i)
	}
	shown := gate.Describe(tool, json.RawMessage(padding+`,"force":true,"amount":500}`))
	require.Contains(t, shown, "(wipe)?\namount: 500\nforce: true\na: ", "what the schema names comes first")
	require.Contains(t, shown, "not shown: 13 values")
	many := make([]string, 30)
	for i := range many {
		many[i] = fmt.Sprintf(`"a%d":%d`, i, i)
	}
	all := "{" + strings.Join(many, ",") + "}"
	tool.InputSchema = json.RawMessage(`{"properties":` + all + `}`)
	require.NotContains(t, gate.Describe(tool, json.RawMessage(all)), "not shown", "it names them all")
	tool.InputSchema = json.RawMessage(`{"properties":{"transfer":{}}}`)
	inside := gate.Describe(tool, json.RawMessage(strings.Replace(all, "{", `{"transfer":{"to":"eve","parts":[{"amount":500000},7]},`, 1)))
	require.Contains(t, inside, "(wipe)?\ntransfer.to: \"eve\"\ntransfer.parts[1]: 7\ntransfer.parts[0].amount: 500000\na0: 0", "what is inside comes with it")
	require.Contains(t, inside, "not shown: 13 values")
	require.Equal(t, "Allow the call of wipe?", gate.Describe(&mcp.Tool{Name: "wipe", Title: "wipe"}, nil))
	require.Equal(t, `Allow the call of "A\u000aB" ("x\u202e")?`, gate.Describe(&mcp.Tool{Name: "x\u202e", Annotations: &mcp.ToolAnnotations{Title: "A\nB"}}, nil))
}

// Padding does not push an argument at the top out of sight, and says how much it is.
func TestPaddingIsCounted(t *testing.T) {
	var members []string
	for i := range 100 {
		members = append(members, fmt.Sprintf(`"%d":%d`, i, i))
	}
	text := gate.Describe(&mcp.Tool{Name: "wipe"}, json.RawMessage(`{"a":{`+strings.Join(members, ",")+`},"force":true}`))
	require.Contains(t, text, "\nforce: true\n")
	require.True(t, strings.HasSuffix(text, "\nnot shown: 81 values"), text)
	deep := gate.Describe(&mcp.Tool{Name: "wipe"}, json.RawMessage(strings.Repeat(`{"abcdefgh":`, 100)+`1`+strings.Repeat(`}`, 100)))
	require.True(t, strings.HasSuffix(deep, "?\nnot shown: 1 values"), deep)
	long := gate.Describe(&mcp.Tool{Name: "wipe"}, json.RawMessage(`{"a":"`+strings.Repeat(`\u202e\n`, 1<<18)+`"}`))
	require.Less(t, len(long), 1000)
}

// Whatever the arguments are, the question is short, and each of its lines begins with a name.
func FuzzDescribe(f *testing.F) {
	for _, seed := range []string{"", "x\ny: 1", "\u202e", "\xff", `"`, "'", `\`, strings.Repeat("\u200b", 300), strings.Repeat("ab\n", 300)} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		arguments, err := json.Marshal(map[string]any{name: value, "b": []any{value, map[string]any{name: value}}})
		require.NoError(t, err)
		text := gate.Describe(&mcp.Tool{Name: name, Title: value}, arguments)
		require.True(t, utf8.ValidString(text))
		require.Less(t, utf8.RuneCountInString(text), 2200)
		lines := strings.Split(text, "\n")
		require.LessOrEqual(t, len(lines), 5)
		for _, line := range lines {
			require.Equal(t, strings.Count(strings.NewReplacer(`\\`, "", `\"`, "").Replace(line), `"`)%2, 0, line)
			for _, r := range line {
				require.True(t, unicode.IsPrint(r) || r == '\ufffd', "%q in %q", r, line)
				require.False(t, unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector), "%q", r)
			}
		}
	})
}

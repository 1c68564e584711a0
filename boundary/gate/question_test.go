package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/gate"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/store"
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
	var crowd strings.Builder
	for range 60 {
		crowd.WriteString(`{"` + strings.Repeat("漢", 60) + `":`)
	}
	crowd.WriteString("[0" + strings.Repeat(",0", 50_000) + "]" + strings.Repeat("}", 60))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	counted := gate.Describe(&mcp.Tool{Name: "wipe"}, json.RawMessage(crowd.String()))
	runtime.ReadMemStats(&after)
	require.Equal(t, "Allow the call of wipe?\nnot shown: 50001 values", counted)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200*crowd.Len()))
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

// asked reports whether a call asks, and declines then.
func (s *site) asked(c *wire.Client, tool string, args any) bool {
	s.Helper()
	out := s.call(c, tool, args, no)
	require.Equal(s, len(out.Questions) > 0, len(s.called()) == 0, "whoever is not asked has the call")
	return len(out.Questions) > 0
}

// Random calls, answers, revocations and pauses, at two instances and one of another
// audience: a call is not asked about while an approval lasts that its principal gave with
// "do not ask again", for its tool or, per arguments, for the same arguments in any spelling.
func TestDoNotAskAgain(t *testing.T) {
	for seed := range uint64(4) {
		each := seed%2 == 0
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			at := setting{store: machine{store.NewMemory(nil)}, gate: gate.Options{Remember: gate.Remember{For: 48 * time.Hour, PerArguments: each}}}
			if seed%3 == 0 {
				at.store = nil
			}
			sites := []*site{newSite(t, at), newSite(t, at)}
			at.options.Audience = "staging"
			sites = append(sites, newSite(t, at))
			var clients [3][]*wire.Client
			for i, s := range sites {
				clients[i] = []*wire.Client{s.client(nil), s.client(ways["legacy"]), s.client(ways["task"])}
			}
			granted := map[string]time.Time{}
			for range 100 {
				i := r.IntN(3)
				s, c, user, tool := sites[i], clients[i][r.IntN(3)], []string{"", "ann", "bob"}[r.IntN(3)], []string{"wipe", "bare"}[r.IntN(2)]
				of := fmt.Sprint(user, tool, i == 2)
				if at.store == nil {
					of = fmt.Sprint(user, tool, i)
				}
				switch r.IntN(10) {
				case 0:
					require.NoError(t, s.gate.Revoke(context.Background(), user, tool))
					delete(granted, of)
					delete(granted, of+"a")
					delete(granted, of+"b")
					continue
				case 1:
					time.Sleep(time.Duration(r.IntN(30)) * time.Hour)
					continue
				}
				name := []string{"a", "b"}[r.IntN(2)]
				if each {
					of += name
				}
				arguments := json.RawMessage(fmt.Sprintf([]string{`{"path":"/%s"}`, ` { "path" : "\u002f%s" } `}[r.IntN(2)], name))
				answers := map[string]any{"approve": r.IntN(2) == 0, "remember": r.IntN(2) == 0}
				when, known := granted[of]
				out := s.as(user).call(c, tool, arguments, says(answers))
				require.Equal(t, !known || time.Since(when) >= 48*time.Hour, len(out.Questions) == 1, of)
				if len(out.Questions) == 1 {
					require.Equal(t, answers["approve"], len(s.called()) == 1)
					require.Equal(t, user != "", len(out.Questions[0].Properties()) == 2)
					if user != "" {
						require.Contains(t, string(out.Questions[0].Schema), map[bool]string{true: "with these arguments for 2 days", false: "about this tool for 2 days"}[each])
					}
					if user != "" && answers["approve"] == true && answers["remember"] == true {
						granted[of] = time.Now()
					}
				}
				s.called()
			}
			for _, all := range clients {
				for _, c := range all {
					require.NoError(t, c.Close())
				}
			}
		})
	}
}

// A tool that is replaced under its name by one that says something else has none of the approvals
// of the other: that of a question still open, that of a call with questions of its own, and the
// lasting one.
func TestAnApprovalBelongsToItsWords(t *testing.T) {
	for kind, records := range stores {
		s := newSite(t, setting{store: records(), gate: gate.Options{Remember: gate.Remember{For: time.Hour}}}).as("ann")
		c := s.client(nil)
		allowed := func(tool string) bool {
			out := s.call(c, tool, nil, no)
			s.called()
			return len(out.Questions) == 0 || !strings.HasPrefix(out.Questions[0].Message, "Allow the call")
		}
		for _, tool := range []string{"asks", "wipe"} {
			first, err := c.Send(t.Context(), wire.Request{Name: tool, Arguments: path{"/a"}})
			require.NoError(t, err)
			own := s.send(c, tool, "/a", first.State)
			s.called()
			open, err := c.Send(t.Context(), wire.Request{Name: tool, Arguments: path{"/b"}})
			require.NoError(t, err)
			s.call(c, tool, nil, forever)
			require.True(t, allowed(tool), kind)

			mcp.AddTool(s.server, &mcp.Tool{Name: tool, Title: "Wipe the disk"}, s.asks(nil))
			again := s.send(c, tool, "/b", open.State)
			require.Contains(t, string(again.Result), `Wipe the disk`, "asked in its own words")
			require.False(t, allowed(tool), kind)
			if own.State != "" {
				require.EqualValues(t, jsonrpc.CodeInvalidParams, s.send(c, tool, "/a", own.State).Error.Code)
			}
			s.call(c, tool, nil, forever)
			require.True(t, allowed(tool), kind)
		}
	}
}

// The arguments of a record are bounded. The oldest make room.
func TestManyArgumentsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setting{gate: gate.Options{Remember: gate.Remember{For: time.Hour, PerArguments: true}}}).as("ann")
		c := s.client(nil)
		for i := range 101 {
			s.call(c, "wipe", path{fmt.Sprint(i)}, forever)
			time.Sleep(time.Millisecond)
		}
		s.called()
		require.True(t, s.asked(c, "wipe", path{"0"}))
		require.False(t, s.asked(c, "wipe", path{"1"}))
		require.NoError(t, c.Close())
	})
}

// Whoever writes to the store cannot approve anything, an approval that comes while another
// one is revoked is revoked too, and a store that fails makes the gate ask.
func TestTheStoreOfApprovals(t *testing.T) {
	records := &forger{machine: machine{store.NewMemory(nil)}}
	s := newSite(t, setting{store: records, gate: gate.Options{Remember: gate.Remember{For: time.Hour}}}).as("ann")
	c := s.client(nil)
	for range 2 { // the record is not there, and is there
		records.onGet = func() ([]byte, error) {
			records.onGet = nil
			s.call(c, "wipe", nil, forever)
			return nil, nil
		}
		require.NoError(t, s.gate.Revoke(context.Background(), "ann", "wipe"))
		require.Len(t, s.called(), 1)
		require.True(t, s.asked(c, "wipe", nil))
	}
	s.call(c, "wipe", nil, forever)
	s.called()
	require.False(t, s.asked(c, "wipe", nil))
	require.NotContains(t, records.sealed, "ann")
	records.onGet = func() ([]byte, error) { return []byte(records.sealed), nil }
	require.True(t, s.as("bob").asked(c, "wipe", nil), "the record of another principal")
	records.onGet = func() ([]byte, error) { return []byte(`{"tool":99999999999999}`), nil }
	require.True(t, s.as("ann").asked(c, "wipe", nil))
	records.onGet = func() ([]byte, error) { return nil, errors.New("down") }
	require.True(t, s.asked(c, "wipe", nil))
	require.Error(t, s.gate.Revoke(context.Background(), "ann", "wipe"))
}

package prove_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// quotes are all failures of each server below the clause that they break. Where one request
// shows a failure it is the command that repeats it by hand. The attacks on a state differ in
// no more than that: the first one stands for them.
func quotes(columns []column, reports []*prove.Report) string {
	var b strings.Builder
	for i, c := range columns {
		fmt.Fprintf(&b, "### %s: %s\n\n", c.title, c.what)
		byClause := map[prove.Clause][]prove.Finding{}
		var clauses []prove.Clause
		for _, f := range reports[i].Failures(prove.Should) {
			if byClause[f.Rule.Clause] == nil {
				clauses = append(clauses, f.Rule.Clause)
			}
			byClause[f.Rule.Clause] = append(byClause[f.Rule.Clause], f)
		}
		for _, clause := range clauses {
			fmt.Fprintf(&b, "- [%s](%s)\n", clause, clause.Source().URL)
			findings := byClause[clause]
			for len(findings) > 0 {
				f, same := findings[0], 1
				for f.Rule.Group() == "state" && same < len(findings) && findings[same].Rule.Group() == "state" {
					same++
				}
				writeFailure(&b, findings[:same])
				findings = findings[same:]
			}
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func writeFailure(b *strings.Builder, same []prove.Finding) {
	var names []string
	for _, f := range same {
		names = append(names, "`"+f.Rule.Name+"`")
	}
	f := same[0]
	fmt.Fprintf(b, "  - %s (%s): %s\n", strings.Join(names, ", "), f.Rule.Level, f.Detail)
	if command := byHand(f); command != "" {
		fmt.Fprintf(b, "    `%s`\n    → `%s`\n", command, short(f.Reply))
	}
}

// declares are the capabilities that a request of a rule had, where they are not all.
var declares = map[string]string{"client/capability-missing": "{}", "client/dropped": "{}", "client/other-mode": `{"elicitation":{"url":{}}}`}

// byHand is the command that repeats a request; "" if one request is not enough: a legacy client
// needs a session, and a sealed state has to be fetched first.
func byHand(f prove.Finding) string {
	var params map[string]json.RawMessage
	var name, state string
	if json.Unmarshal(f.Request, &params) != nil || strings.HasPrefix(f.Rule.Name, "client/legacy") {
		return ""
	}
	_ = json.Unmarshal(params["requestState"], &state)
	if json.Unmarshal(params["name"], &name) != nil || strings.HasPrefix(state, "(") || bytes.ContainsAny(f.Request, "'`") {
		return ""
	}
	delete(params, "name")
	var members []string
	for _, key := range slices.Sorted(maps.Keys(params)) {
		members = append(members, fmt.Sprintf("%q:%s", key, compact(params[key])))
	}
	command := "call " + name + " '" + strings.Join(members, ",") + "'"
	if capabilities := declares[f.Rule.Name]; capabilities != "" {
		command += " '" + capabilities + "'"
	}
	return command
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func short(text string) string {
	text = strings.ReplaceAll(text, "`", "'")
	if runes := []rune(text); len(runes) > 160 {
		return string(runes[:160]) + "…"
	}
	return text
}

// The commands of the page show what they say, against the servers themselves.
func TestTheFindingsByHand(t *testing.T) {
	page := readPage(t, findingsPage).text
	_, function, _ := strings.Cut(page, "```sh\n")
	function, _, ok := strings.Cut(function, "```")
	require.True(t, ok)
	commands := regexp.MustCompile("(?m)^    `(call .*)`\n    → `(.*)`$")
	all := 0
	for heading, build := range map[string]func(*testing.T) string{"### 1: ": documented, "### 2: ": everything, "### 4: ": exampleOfMCPGo} {
		_, section, ok := strings.Cut(page, heading)
		require.True(t, ok, heading)
		if heading == "### 2: " { // and the third, which is a tool of the same server
			section, _, _ = strings.Cut(section, "### 4: ")
		} else {
			section, _, _ = strings.Cut(section, "\n### ")
		}
		shown := commands.FindAllStringSubmatch(section, -1)
		require.NotEmpty(t, shown, heading)
		all += len(shown)
		t.Run(heading, func(t *testing.T) {
			onlyNightly(t)
			showThemselves(t, function, build(t), shown)
		})
	}
	require.Greater(t, all, 20)
}

// showThemselves runs commands against a server that is started for each.
func showThemselves(t *testing.T, function, binary string, commands [][]string) {
	_, err := exec.LookPath("curl")
	require.NoError(t, err, "install curl")
	for _, m := range commands {
		url := serveByHand(t, binary)
		out, err := exec.Command("sh", "-c", "URL="+url+"\n"+function+"\n"+m[1]).CombinedOutput()
		if strings.HasPrefix(m[2], "no answer: ") {
			require.Error(t, err, "%s\n%s", m[1], out)
		} else {
			require.Contains(t, string(out), saidBy(t, m[2]), "%s\n%s", m[1], m[2])
		}
	}
}

// saidBy is the text in an outline of a reply, as JSON has it.
func saidBy(t *testing.T, outline string) string {
	quoted := regexp.MustCompile(`"(?:[^"\\]|\\.)*"?`).FindString(outline)
	require.NotEmpty(t, quoted, outline)
	return strings.TrimSuffix(strings.Trim(quoted, `"`), "…")
}

// serveByHand starts a server over HTTP, for one command.
func serveByHand(t *testing.T, binary string) (url string) {
	t.Helper()
	free := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	server := exec.Command(binary, "-http", address)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	require.Eventually(t, func() bool {
		res, err := http.Get("http://" + address + "/mcp")
		if err == nil {
			res.Body.Close()
		}
		return err == nil
	}, 20*time.Second, 20*time.Millisecond)
	return "http://" + address + "/mcp"
}

package vet_test

import (
	"encoding/json"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove/cmd/mrtr/internal/vet"
)

// expected is a finding in code that others keep, or that we keep on purpose.
type expected struct {
	analyzer, place, explanation string
}

// The analyzers over the whole of go-sdk v1.8.0, its tests and examples too.
// Each finding fails for a client of today, or with one that means harm.
func TestGoSDK(t *testing.T) {
	const (
		crash     = "an Example: a client that answers under another key ends the process"
		declining = crash + ", and so does one that declines"
		elicits   = "an error for every client of 2026-07-28: the tool can serve legacy clients alone"
		tampering = "the state is judged by the suffix that the conformance suite appends: any other passes"
	)
	requireFindings(t, moduleDir(t, "testdata", "github.com/modelcontextprotocol/go-sdk"), []expected{
		{"sessionask", "conformance/everything-server/main.go:411", elicits},
		{"sessionask", "conformance/everything-server/main.go:446", elicits},
		{"sessionask", "conformance/everything-server/main.go:471", elicits},
		{"sessionask", "conformance/everything-server/main.go:517", elicits},
		{"unsealedstate", "conformance/everything-server/main.go:829", tampering},
		{"unsealedstate", "conformance/everything-server/main.go:898", "the round and the name are what the client writes"},
		{"unsealedstate", "conformance/everything-server/main.go:927", "the name goes out in plain text, and is believed when it comes back"},
		{"unsealedstate", "conformance/everything-server/main.go:948", tampering},
		{"sessionask", "examples/server/everything/main.go:212", elicits},
		{"sessionask", "examples/server/everything/main.go:228", elicits},
		{"sessionask", "examples/server/everything/main.go:240", elicits},
		{"uncheckedanswer", "examples/server/everything/main.go:254", "a legacy client that declines sends no content, and ends the process"},
		{"sessionask", "examples/server/everything/main.go:263", elicits},
		{"uncheckedanswer", "mcp/client_example_test.go:36", crash},
		{"uncheckedanswer", "mcp/client_example_test.go:152", crash},
		{"uncheckedanswer", "mcp/client_example_test.go:200", crash},
		{"uncheckedanswer", "mcp/client_example_test.go:254", crash},
		{"uncheckedanswer", "mcp/client_example_test.go:256", declining},
		{"uncheckedanswer", "mcp/server_example_test.go:528", declining + "; it is the example of multi round-trip requests in docs/server.md"},
		{"uncheckedanswer", "mcp/server_example_test.go:528", declining + ", on the same line"},
	})
}

// The findings in our own modules are known, one by one. go test does not
// see that the sources of other modules change: with -count=1 it looks again.
func TestOurModules(t *testing.T) {
	const root = "../../../../.."
	shown := map[string][]expected{
		".": {
			{"sessionask", "examples/migrate_before.go:res, err := req.Session.Elicit", "the handler that is migrated, as it was"},
			{"uncheckedanswer", "examples/migrate_before.go:ticket := Ticket{Seat: res.Content", "the same handler: a client that breaks the form ends the process"},
			{"sessionask", "examples/migrate_before.go:res, err = req.Session.Elicit", "the same handler, its second question"},
			{"uncheckedanswer", "examples/migrate_before.go:ticket.Meal = res.Content", "the same"},
			{"unsealedstate", "internal/wire/trip.go:RequestState:  place,", "a handler for tests of the transports, which look at rounds and not at states"},
		},
		"lab": {
			{"unsealedstate", "interop/bare/main.go:place := req.Params.RequestState", "a tool on go-sdk alone, kept as small as it gets: the contrast"},
			{"unsealedstate", "interop/bare/main.go:result.RequestState = place", "the same tool, where it writes the state"},
		},
	}
	modules := modulesBelow(t, root)
	for module := range shown {
		require.Contains(t, modules, module)
	}
	for _, module := range modules {
		if need := goOf(t, filepath.Join(root, module)); version.Compare(runtime.Version(), need) < 0 {
			t.Logf("%s needs %s, and is looked at with that or a newer one", module, need)
			continue
		}
		t.Run(module, func(t *testing.T) { requireFindings(t, filepath.Join(root, module), shown[module]) })
	}
}

func requireFindings(t *testing.T, dir string, want []expected) {
	t.Helper()
	findings, err := vet.Run(dir, vet.Analyzers, func(string) {}, "./...")
	require.NoError(t, err)
	var got, all []string
	for _, f := range findings {
		got = append(got, fmt.Sprintf("%s %s:%d", f.Analyzer, f.File, f.Line))
	}
	for _, e := range want {
		require.NotEmpty(t, e.explanation)
		all = append(all, e.analyzer+" "+numbered(t, dir, e.place))
	}
	require.Equal(t, all, got)
}

// numbered is a place by its line's number. Code of ours moves, so there the
// line is named by how it begins.
func numbered(t *testing.T, dir, place string) string {
	t.Helper()
	file, line, _ := strings.Cut(place, ":")
	if strings.Trim(line, "0123456789") == "" {
		return place
	}
	source, err := os.ReadFile(filepath.Join(dir, file))
	require.NoError(t, err)
	for i, text := range strings.Split(string(source), "\n") {
		if strings.HasPrefix(strings.TrimSpace(text), line) {
			return fmt.Sprintf("%s:%d", file, i+1)
		}
	}
	require.Failf(t, "no such line", "%s: %s", file, line)
	return ""
}

// goOf is the oldest Go that a module can be built with.
func goOf(t *testing.T, dir string) string {
	t.Helper()
	var file struct{ Go string }
	require.NoError(t, json.Unmarshal(goTool(t, dir, "mod", "edit", "-json"), &file))
	return "go" + file.Go
}

// goTool is the output of a go command in a folder.
func goTool(t *testing.T, in string, args ...string) []byte {
	t.Helper()
	command := exec.Command("go", args...)
	command.Dir, command.Stderr = in, os.Stderr
	out, err := command.Output()
	require.NoError(t, err, "%s", out)
	return out
}

func moduleDir(t *testing.T, in, module string) string {
	t.Helper()
	goTool(t, in, "mod", "download", module)
	dir := strings.TrimSpace(string(goTool(t, in, "list", "-m", "-f", "{{.Dir}}", module)))
	require.True(t, filepath.IsAbs(dir), "%q is no directory of %s", dir, module)
	return dir
}

// modulesBelow are the folders of the modules of this repository that have Go
// files, other than the cases of these tests.
func modulesBelow(t *testing.T, root string) []string {
	t.Helper()
	var modules []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if d.Name() != "go.mod" {
			return nil
		}
		module, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		modules = append(modules, filepath.ToSlash(module))
		return nil
	}))
	require.Greater(t, len(modules), 1, "the nested modules are not found")
	return modules
}

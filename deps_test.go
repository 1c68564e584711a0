package sdk_test

import (
	"encoding/json"
	"go/build"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module     = "github.com/mrtr-go/sdk"
	gosdk      = "github.com/modelcontextprotocol/go-sdk"
	jsonschema = "github.com/google/jsonschema-go"
	gorilla    = "github.com/gorilla/websocket"
)

// importRules are a stair: each package stands on packages above it in this
// list, and on what is named beside them. What one may import besides the
// standard library is all that it may; a rule holds for the packages below it
// too, unless they have their own.
var importRules = []struct {
	pkg    string
	may    []string // our packages, by their folder, and others, by their path
	reason string
}{
	{"statecodec", nil, "whoever seals a state must be able to read everything that does it"},
	{"store", []string{"store"}, "a backend, and whoever writes one, needs no protocol and no other backend"},
	{"transcript", nil, "a conversation is text: checking it needs no protocol"},
	{"internal/spelling", nil, "it compares words"},
	{"era", []string{gosdk}, "it looks at one request, whoever handles it"},
	{"sse", []string{gosdk, "era"}, "it serves legacy clients for any go-sdk handler, ours or not"},
	{"mcphttp", []string{gosdk, "era"}, "a transport knows nothing of rounds"},
	{"wstransport", []string{gosdk, gorilla, "era"}, "a transport knows nothing of rounds"},
	{"boundary", []string{gosdk, jsonschema, "era", "internal/spelling", "boundary"}, "it recognises errors by their methods, ours and yours alike"},
	{"boundary/internal", []string{gosdk, jsonschema, "boundary", "internal/probe"}, "the servers that misbehave for its tests are judged by the probe"},
	{"mrtr", []string{gosdk, jsonschema, "era", "sse", "statecodec"}, "importing it adds go-sdk and nothing else to a build; no transport, no backend, no boundary"},
	{"options", []string{gosdk, "mrtr", "sse", "internal/spelling", "options"}, "it is read: wiring belongs to mains"},
	{"internal/wire", []string{gosdk}, "a raw client must not share the mistakes of what it tests"},
	{"internal/probe", []string{gosdk, jsonschema}, "a raw client must not share the mistakes of what it tests"},
}

func TestImportRules(t *testing.T) {
	checked := map[string]int{}
	for _, dir := range packageDirs(t) {
		rule := -1
		for i, r := range importRules {
			if dir == r.pkg || strings.HasPrefix(dir, r.pkg+"/") {
				if rule < 0 || len(r.pkg) > len(importRules[rule].pkg) {
					rule = i
				}
			}
		}
		if rule < 0 {
			continue
		}
		r := importRules[rule]
		checked[r.pkg]++
		pkg, err := build.ImportDir(dir, 0)
		require.NoError(t, err)
		for _, imported := range pkg.Imports {
			if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
				continue // the standard library
			}
			allowed := slices.ContainsFunc(r.may, func(may string) bool {
				if first, _, _ := strings.Cut(may, "/"); !strings.Contains(first, ".") {
					may = module + "/" + may
				}
				return imported == may || strings.HasPrefix(imported, may+"/")
			})
			require.Truef(t, allowed, "%s imports %s, and must not: %s", dir, imported, r.reason)
		}
	}
	for _, r := range importRules {
		require.NotZero(t, checked[r.pkg], "no package %s: the rule holds nothing", r.pkg)
	}
}

// What a backend needs is required by its own module and by nobody else.
func TestRootRequiresNoBackend(t *testing.T) {
	root := requires(t, ".")
	found := 0
	for _, backend := range []string{"sqlitestore", "natsmrtr", "pgmrtr", "redisstore"} {
		for library, indirect := range requires(t, backend) {
			if indirect || library == module || library == "github.com/stretchr/testify" {
				continue
			}
			found++
			require.NotContainsf(t, root, library, "go.mod requires %s, which only %s needs", library, backend)
		}
	}
	require.NotZero(t, found, "no backend requires a library")
}

// requires are the modules that the go.mod in dir requires, and whether
// indirectly.
func requires(t *testing.T, dir string) map[string]bool {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	require.NoError(t, err)
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	require.NoError(t, json.Unmarshal(out, &mod))
	required := map[string]bool{}
	for _, r := range mod.Require {
		required[r.Path] = r.Indirect
	}
	return required
}

// packageDirs are the folders of this module with Go files.
func packageDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if nested, _ := filepath.Glob(filepath.Join(path, "go.mod")); len(nested) > 0 && path != "." {
			return filepath.SkipDir
		}
		if pkg, err := build.ImportDir(path, 0); err == nil && len(pkg.GoFiles) > 0 {
			dirs = append(dirs, filepath.ToSlash(path))
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	return dirs
}

package sdk_test

import (
	"go/build"
	"io/fs"
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

// importRules say what each package may import beside the standard library.
// A rule holds for the packages below it too, unless they have their own.
var importRules = []struct {
	pkg    string
	may    []string
	reason string
}{
	{"statecodec", nil, "whoever seals a state must be able to read everything that does it"},
	{"sse", []string{gosdk}, "it mends old clients for any go-sdk handler, ours or not"},
	{"mrtr", []string{gosdk, jsonschema, module + "/statecodec", module + "/sse"}, "importing it adds go-sdk and nothing else to a build; no transport, no backend, no boundary"},
	{"boundary", []string{gosdk, jsonschema, module + "/boundary", module + "/internal/spelling"}, "it recognises errors by their methods, ours and yours alike"},
	{"boundary/transcript", nil, "a conversation is text: checking it needs no protocol"},
	{"wstransport", []string{gosdk, gorilla}, "a transport knows nothing of rounds"},
	{"options", []string{gosdk, module + "/mrtr", module + "/sse", module + "/options", module + "/internal/spelling"}, "it is read: wiring belongs to mains"},
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
				return imported == may || strings.HasPrefix(imported, may+"/")
			})
			require.Truef(t, allowed, "%s imports %s, and must not: %s", dir, imported, r.reason)
		}
	}
	for _, r := range importRules {
		require.NotZero(t, checked[r.pkg], "no package %s: the rule holds nothing", r.pkg)
	}
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

// Package release_test tries a release before it is made: every module that others import is
// packed as a module proxy would serve it, and used from there.
package release_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	goversion "go/version"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	root    = "github.com/mrtr-go/sdk"
	version = "v0.1.0"
)

// imported are the modules that others import or install, by their folders. The other modules
// of the tree are for its own checks.
var imported = []string{".", "prove", "otelmrtr", "store/natsstore", "store/pgstore", "store/redisstore", "store/sqlitestore"}

func TestAReleaseCanBeUsed(t *testing.T) {
	if os.Getenv("MRTR_CI") != "1" {
		t.Skip("it compiles every module once more: MRTR_CI=1 tries the release")
	}
	tree, proxy := t.TempDir(), t.TempDir()
	copyTree(t, tree)
	run(t, tree, nil, filepath.Join(tree, "lab/release/strip"), version)
	usable := slices.DeleteFunc(slices.Clone(imported), func(dir string) bool { return tooNew(t, tree, dir) })
	for _, dir := range usable {
		pack(t, tree, dir, proxy)
	}
	env := environment(t, proxy)

	t.Run("a server imports every module", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "go.mod", "module example.com/server\n\ngo 1.25.0\n")
		own := []string{root + "/mrtr", root + "/boundary", root + "/transport/mcphttp"}
		others := []string{}
		for _, m := range usable[1:] {
			others = append(others, root+"/"+m)
		}
		for name, imports := range map[string][]string{"own": own, "others": others} {
			require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
			write(t, filepath.Join(dir, name), "main.go", "package main\n\nimport (\n\t_ \""+strings.Join(imports, "\"\n\t_ \"")+"\"\n)\n\nfunc main() {}\n")
			for _, p := range imports {
				run(t, dir, env, "go", "get", p+"@"+version)
			}
		}
		run(t, dir, env, "go", "build", "-o", os.DevNull, "./own")
		require.NotEmpty(t, run(t, dir, env, "go", "list", "-deps", "./others")) // their libraries take minutes to compile
		require.NotContains(t, string(read(t, dir, "go.mod")), "replace")
	})
	t.Run("go install", func(t *testing.T) {
		bin := t.TempDir()
		run(t, bin, append(env, "GOBIN="+bin), "go", "install", root+"/prove/cmd/mrtr@"+version)
		require.Contains(t, run(t, bin, env, filepath.Join(bin, "mrtr"), "version"), "mrtr      "+version)
	})
	t.Run("go run", func(t *testing.T) {
		require.Contains(t, run(t, t.TempDir(), env, "go", "run", root+"/cmd/weather-demo@"+version, "-style", "basic"), "Hello, Ada.")
	})
}

// tooNew names a module that needs a newer Go than this one, as the root does not.
func tooNew(t *testing.T, tree, dir string) bool {
	t.Helper()
	var mod struct{ Go string }
	require.NoError(t, json.Unmarshal([]byte(run(t, filepath.Join(tree, dir), nil, "go", "mod", "edit", "-json")), &mod))
	newer := goversion.Compare("go"+mod.Go, runtime.Version()) > 0
	if newer {
		t.Logf("%s needs Go %s, and is left out", dir, mod.Go)
	}
	return newer
}

// copyTree copies the files of the tree as they are, committed or not.
func copyTree(t *testing.T, to string) {
	t.Helper()
	from := filepath.Join("..", "..")
	listed := run(t, from, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	files := slices.DeleteFunc(strings.Split(listed, "\x00"), func(name string) bool { return name == "" })
	require.NotEmpty(t, files)
	for _, name := range files {
		info, err := os.Stat(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // it was removed
		}
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(to, name), read(t, from, name), info.Mode()))
	}
}

// pack writes the files that a module proxy serves of one module.
func pack(t *testing.T, tree, dir, proxy string) {
	t.Helper()
	module := path.Join(root, dir)
	at := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	require.NoError(t, os.MkdirAll(at, 0o755))
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	write(t, at, "list", version+"\n")
	write(t, at, version+".info", string(info))
	write(t, at, version+".mod", string(read(t, filepath.Join(tree, dir), "go.mod")))
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	base := filepath.Join(tree, dir)
	require.NoError(t, filepath.WalkDir(base, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(base, file) // it is below
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(file, "go.mod"))
			if name != "." && nested == nil {
				return fs.SkipDir // another module
			}
			return nil
		}
		w, err := z.Create(module + "@" + version + "/" + filepath.ToSlash(name))
		if err != nil {
			return err
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	}))
	require.NoError(t, z.Close())
	write(t, at, version+".zip", packed.String())
}

// environment is that of somebody else's machine, whose proxy has the release: an empty module
// cache, filled from what this machine has, and else as it always is.
func environment(t *testing.T, proxy string) []string {
	t.Helper()
	cache := strings.TrimSpace(run(t, ".", nil, "go", "env", "GOMODCACHE"))
	usual := strings.TrimSpace(run(t, ".", nil, "go", "env", "GOPROXY"))
	modules := t.TempDir()
	return append(os.Environ(),
		"GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(cache)+"/cache/download,"+usual,
		"GOMODCACHE="+modules, "GOFLAGS=-mod=mod -modcacherw", "GONOPROXY=", "GOPRIVATE=", "GOSUMDB=off", "GOWORK=off", "MRTR_CI=")
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, env
	var failed bytes.Buffer
	c.Stderr = &failed
	out, err := c.Output()
	require.NoError(t, err, "%s %s\n%s%s", name, strings.Join(args, " "), out, failed.String())
	return string(out)
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return b
}

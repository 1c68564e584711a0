package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	gosdk = "github.com/modelcontextprotocol/go-sdk"
	ours  = "github.com/mrtr-go/sdk"
)

// firstCommit is the last commit before the engine was made faster.
const firstCommit = "6e654793fb18cac22dac556d31d4f4b68abc38cc"

// mendedModule copies go-sdk with one line changed, the one that makes a decoder,
// and its buffer, for every value that is decoded. It returns a go.mod of this
// module that takes the copy.
func (w *workshop) mendedModule() (modfile string, _ error) {
	original, err := said("go", "list", "-m", "-f", "{{.Dir}}", gosdk)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(w.dir, "go-sdk")
	if err := os.CopyFS(changed, os.DirFS(original)); err != nil {
		return "", err
	}
	const decoder, direct = "return NewDecoder(bytes.NewReader(data)).Decode(v)",
		"_, err := json.Parse(bytes.TrimSpace(data), v, json.DontMatchCaseInsensitiveStructFields)\n\treturn err"
	path := filepath.Join(changed, "internal", "json", "json.go")
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if strings.Count(string(source), decoder) != 1 {
		return "", fmt.Errorf("%s of go-sdk no longer decodes as it did", filepath.Join("internal", "json", "json.go"))
	}
	// The copy keeps the mode of the module cache, where nothing may be written.
	if err := os.Remove(path); err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(source), decoder, direct, 1)), 0o600); err != nil {
		return "", err
	}
	return w.modfile("mended", fmt.Sprintf("replace %s => %s", gosdk, changed))
}

// firstModule takes the engine's first version out of the repository's history,
// and returns a go.mod of this module that uses it.
func (w *workshop) firstModule() (modfile string, _ error) {
	archive := filepath.Join(w.dir, "first.tar")
	pack := exec.Command("git", "archive", "-o", archive, firstCommit, "go.mod", "go.sum", "era", "mrtr", "sse", "statecodec", "internal")
	pack.Dir = ".."
	if err := pack.Run(); err != nil {
		return "", &missing{"the repository's history back to " + firstCommit}
	}
	dir := filepath.Join(w.dir, "first-version")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if output, err := exec.Command("tar", "-xf", archive, "-C", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpacking the first version: %w\n%s", err, output)
	}
	// The subjects read their own cost, in every version of the engine.
	if err := os.CopyFS(filepath.Join(dir, "internal", "meter"), os.DirFS("../internal/meter")); err != nil {
		return "", err
	}
	return w.modfile("first", fmt.Sprintf("replace %s => %s", ours, dir))
}

// modfile writes a copy of this module's go.mod and go.sum with one replacement
// more, or another one where the module has one already.
func (w *workshop) modfile(name, replacement string) (string, error) {
	requirements, err := os.ReadFile("go.mod")
	if err != nil {
		return "", err
	}
	left, _, _ := strings.Cut(replacement, " =>")
	var kept []string
	for line := range strings.Lines(string(requirements)) {
		if !strings.HasPrefix(line, left+" =>") {
			kept = append(kept, line)
		}
	}
	root, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(strings.Join(kept, "")+replacement+"\n", "=> ../\n", "=> "+root+"\n")
	file := filepath.Join(w.dir, name+".mod")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		return "", err
	}
	return file, os.WriteFile(filepath.Join(w.dir, name+".sum"), sums, 0o600)
}

// said is the output of a command without the space around it.
func said(name string, arguments ...string) (string, error) {
	out, err := exec.Command(name, arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

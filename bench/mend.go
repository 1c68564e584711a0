package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const gosdk = "github.com/modelcontextprotocol/go-sdk"

// mend copies go-sdk into dir and changes the line that makes a decoder, and its
// buffer, for each value. It returns a go.mod of this module that uses the copy.
func mend(dir string) (modfile string, _ error) {
	original := said("go", "list", "-m", "-f", "{{.Dir}}", gosdk)
	changed := filepath.Join(dir, "go-sdk")
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
	// Files copied from the module cache are read-only.
	if err := os.Remove(path); err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(source), decoder, direct, 1)), 0o600); err != nil {
		return "", err
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "mended.sum"), sums, 0o600); err != nil {
		return "", err
	}
	requirements, err := os.ReadFile("go.mod")
	if err != nil {
		return "", err
	}
	modfile = filepath.Join(dir, "mended.mod")
	return modfile, os.WriteFile(modfile, fmt.Appendf(requirements, "\nreplace %s => %s\n", gosdk, changed), 0o600)
}

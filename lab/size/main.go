// Command size holds each room of the tree to its budget: lines of code, and lines of tests
// as a share of the code. A library to learn from stays small enough to be read, so a room
// that needs more says why in the commit that raises its number here. From lab:
//
//	go run ./size
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// room is a part of the tree. A file belongs to the room that names it closest.
type room struct {
	folders string // one or more
	code    int    // most lines of Go that are no tests
	tests   int    // most lines of tests
}

// share is what the tests of a room may have of its code's budget, in percent.
const share = 65

func sized(folders string, code int) room { return room{folders, code, code * share / 100} }

// A room with numbers of its own for its tests is over its share, and does not grow.
var rooms = []room{
	{"options", 860, 1095},
	{"options/contract", 845, 0},
	{"options/replay", 1310, 0}, // the tables of contracts that tests of the engine, of tasks and of stores read
	{"mrtr", 17_320, 16_935},
	{"mrtr/internal/kit", 845, 0}, // of the engine's tests
	sized("mrtr/mrtrtest", 1500),
	sized("statecodec", 1605),
	{"sse", 950, 780},
	sized("store", 2805),
	{"store/sqlitestore store/natsstore store/pgstore store/redisstore", 2455, 1685},
	{"otelmrtr", 680, 600},
	{"tasks", 2650, 3665},
	{"serve", 585, 825},
	{"relay", 250, 435},
	{"transport", 7005, 5345},
	{"boundary", 4465, 3785},
	{"boundary/gate", 975, 1025},
	{"boundary/transcript", 450, 0},
	sized("cmd/weather-demo", 3740),
	{"examples", 665, 440},
	{"internal", 4975, 1690},
	{"prove", 13_055, 7255},
	{"lab", 9645, 10_310},
	{".", 50, 305}, // doc.go and the invariant
}

// The tree as a whole.
const (
	code  = 79_620
	tests = 60_970
	files = 865
	// A module proxy serves the root without the modules inside it.
	filesOfRoot = 507
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

// count is what a room has.
type count struct{ code, tests, files int }

func run() error {
	paths, err := tracked()
	if err != nil {
		return err
	}
	counts := make([]count, len(rooms))
	modules, all, ofRoot := nested(paths), count{}, 0
	for _, path := range paths {
		all.files++
		if !inside(path, modules) {
			ofRoot++
		}
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n, c := bytes.Count(text, []byte("\n")), &counts[roomOf(path)]
		// Sources below testdata are the material of tests: nothing that ships is built of them.
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") {
			c.tests += n
			all.tests += n
		} else {
			c.code += n
			all.code += n
		}
	}
	var over []string
	hold := func(what string, n, budget int) string {
		if n > budget {
			over = append(over, fmt.Sprintf("%s: %d of %d", what, n, budget))
		}
		return fmt.Sprintf("%7d of %6d", n, budget)
	}
	fmt.Printf("%-70s %17s %17s\n", "lines of Go known to git", "code", "tests")
	for i, r := range rooms {
		fmt.Printf("%-70s %s %s\n", r.folders, hold(r.folders+", code", counts[i].code, r.code), hold(r.folders+", tests", counts[i].tests, r.tests))
	}
	fmt.Printf("%-70s %s %s\n", "all", hold("all code", all.code, code), hold("all tests", all.tests, tests))
	fmt.Printf("%-70s %s\n", "files", hold("files", all.files, files))
	fmt.Printf("%-70s %s\n", "files of the root module", hold("files of the root module", ofRoot, filesOfRoot))
	if len(over) > 0 {
		return fmt.Errorf("over budget:\n  %s", strings.Join(over, "\n  "))
	}
	return nil
}

// tracked are the files that git knows and that are there, by their path from the top, where
// the program goes.
func tracked() ([]string, error) {
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return nil, fmt.Errorf("git rev-parse: %w", err)
	}
	if err := os.Chdir(strings.TrimSpace(string(top))); err != nil {
		return nil, err
	}
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var paths []string
	for path := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// nested are the folders of the modules inside the root's.
func nested(paths []string) (folders []string) {
	for _, path := range paths {
		if filepath.Base(path) == "go.mod" && path != "go.mod" {
			folders = append(folders, filepath.Dir(path))
		}
	}
	return folders
}

func inside(path string, folders []string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}

func roomOf(path string) int {
	found, longest := len(rooms)-1, 0
	for i, r := range rooms {
		for folder := range strings.FieldsSeq(r.folders) {
			if len(folder) > longest && strings.HasPrefix(path, folder+"/") {
				found, longest = i, len(folder)
			}
		}
	}
	return found
}

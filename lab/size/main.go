// Command size holds the repository against its budgets, and fails if a room or all of
// them together exceed theirs; the other counts it only prints. A library to learn from
// stays small enough to be read, so a room that grows past its budget needs a reason, and
// a new number here:
//
//	go run ./lab/size
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

// room is a part of the tree, with the most lines of Go that it may have.
type room struct {
	folders string // one or more
	budget  int
}

// rooms are all folders with Go in them. A file is in the room that names it closest.
var rooms = []room{
	{"mrtr", 9300},
	{"mrtr/mrtrtest", 1600},
	{"options", 850},
	{"statecodec", 1500},
	{"sse", 750},
	{"store", 560},
	{"store/storetest", 2600},
	{"store/sqlitestore store/natsstore store/pgstore store/redisstore", 1600},
	{"transport/mcphttp", 3300},
	{"transport/wstransport transport/stdio", 1700},
	{"transport/internal", 700},
	{"boundary", 4600},
	{"boundary/gate", 900},
	{"boundary/transcript", 800},
	{"prove prove/cmd/mrtr", 9300},
	{"otelmrtr", 360},
	{"cmd/weather-demo", 5300},
	{"examples", 600},
	{"internal", 2600},
	{"check", 6500},
	{".", 50}, // whatever has no room of its own
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run() error {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	var all, tests, data, engine, boundary int
	lines := make([]int, len(rooms))
	names := map[string]bool{}
	for path := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		first, _, _ := strings.Cut(path, "/")
		names[first] = true
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not yet committed
		}
		if err != nil {
			return err
		}
		n := bytes.Count(text, []byte("\n"))
		if strings.HasSuffix(path, "_test.go") {
			tests += n
			continue
		}
		all += n
		lines[roomOf(path)] += n
		if strings.Contains(path, "/testdata/") {
			data += n
		}
		switch filepath.Dir(path) {
		case "mrtr":
			engine++
		case "boundary":
			boundary++
		}
	}
	over := 0
	show := func(what string, n, budget int) bool {
		mark := ""
		if n > budget {
			mark = fmt.Sprintf("  over by %d", n-budget)
		}
		fmt.Printf("%-66s %6d of %6d%s\n", what, n, budget, mark)
		return n > budget
	}
	fmt.Println("Lines of Go known to git, tests apart. Sources in testdata count as their room's.")
	for i, r := range rooms {
		if show(r.folders, lines[i], r.budget) {
			over++
		}
	}
	if show(fmt.Sprintf("all (%d of them in testdata)", data), all, 51_000) {
		over++
	}
	show("tests", tests, 44_000)
	show("files in mrtr", engine, 30)
	show("files in boundary", boundary, 24)
	show("names at the root", len(names), 30)
	if over > 0 {
		return fmt.Errorf("%d budgets are exceeded", over)
	}
	return nil
}

// roomOf is the room of a file: that of the longest folder above it.
func roomOf(path string) (found int) {
	longest := -1
	for i, r := range rooms {
		for folder := range strings.FieldsSeq(r.folders) {
			if (folder == "." || strings.HasPrefix(path, folder+"/")) && len(folder) > longest {
				found, longest = i, len(folder)
			}
		}
	}
	return found
}

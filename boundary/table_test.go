package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// A verdict is the outcome of one misbehaviour.
type verdict struct {
	Outcome judge.Outcome
	Type    string
	Fault   string // why the answer is not well-formed or is missing
}

// patience is how long the test waits for an answer.
const patience = time.Minute

// runAt makes the misbehaving call, judges the answer, and sees whether the next
// call, of a healthy tool, works and no answer came twice.
func runAt(ctx context.Context, client *wire.Client, place site, era judge.Era, c badCase) verdict {
	before := client.Surplus()
	var v verdict
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v.judge(place, era, c, answerTo(within, client, place, c))
	after, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v.judgeNext(after, client, era)
	if client.Surplus() != before {
		v.Fault = joined(v.Fault, "more than one answer came")
	}
	return v
}

type answer struct {
	res *jsonrpc.Response
	err error
}

func (v *verdict) judge(place site, era judge.Era, c badCase, a answer) {
	if a.err != nil {
		v.Fault = joined("no answer: "+firstLine(a.err.Error()), v.Fault)
		return
	}
	var err error
	if v.Outcome, err = judges()[place][era].Judge(a.res); err != nil {
		v.Fault = joined(firstLine(err.Error()), v.Fault)
		return
	}
	if wire := string(a.res.Result) + fmt.Sprint(a.res.Error); strings.Contains(wire, "boom") {
		v.Fault = joined("the answer shows the panic", v.Fault)
	}
	if n := size(a.res); n > mostBytes {
		v.Fault = joined(fmt.Sprintf("an answer of %d bytes", n), v.Fault)
	}
	if place != atTool {
		return
	}
	output := resolved(c.Output)
	if era == judge.Legacy && output != nil && output.Schema().Type != "object" {
		output = nil // a legacy client is not shown it
	}
	if v.Outcome, err = judge.Answer(era, a.res, output); err != nil {
		v.Fault = joined(firstLine(err.Error()), v.Fault)
		return
	}
	v.Type = reportIn(a.res).Type
}

func (v *verdict) judgeNext(ctx context.Context, client *wire.Client, era judge.Era) {
	res, err := client.Exchange(ctx, wire.Request{Name: "healthy"})
	if outcome, judged := judge.Answer(era, res, nil); err != nil || judged != nil || outcome != judge.Complete {
		v.Fault = joined(v.Fault, "the next call did not work")
	}
}

// judges know the specification's rules for the answers of each method in each era.
// The processes that these tests start need none of them, or one.
var judges = sync.OnceValue(func() map[site]map[judge.Era]*judge.Specification {
	all := map[site]map[judge.Era]*judge.Specification{}
	for _, place := range sites {
		all[place] = map[judge.Era]*judge.Specification{}
		for _, era := range eras {
			specification, err := judge.SpecificationOf(string(place), era)
			if err != nil {
				panic(err)
			}
			all[place][era] = specification
		}
	}
	return all
})

// mostBytes is more than any answer may take: the limit, the part of _meta that is not counted,
// and the report.
const mostBytes = 64<<10 + 48<<10

func size(res *jsonrpc.Response) int {
	if res.Error == nil {
		return len(res.Result)
	}
	data, err := json.Marshal(res.Error)
	if err != nil {
		return 0 // it was decoded from JSON
	}
	return len(data)
}

func answerTo(ctx context.Context, client *wire.Client, place site, c badCase) answer {
	switch place {
	case atPrompt:
		res, err := client.Exchange(ctx, wire.Request{Method: string(place), Name: c.Name})
		return answer{res, err}
	case atResource:
		res, err := client.Exchange(ctx, wire.Request{Method: string(place), Name: badScheme + c.Name})
		return answer{res, err}
	}
	var arguments any = map[string]any{}
	if c.Arguments != nil {
		arguments = c.Arguments
	}
	if c.Wire != "" {
		arguments = json.RawMessage(c.Wire)
	}
	res, err := client.Exchange(ctx, wire.Request{Name: c.Name, Arguments: arguments})
	return answer{res, err}
}

func resolved(output any) *jsonschema.Resolved {
	schema, ok := output.(*jsonschema.Schema)
	if !ok {
		return nil
	}
	r, err := schema.Resolve(nil)
	if err != nil {
		panic(err)
	}
	return r
}

func reportIn(res *jsonrpc.Response) boundary.Report {
	var r struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var f boundary.Report
	if json.Unmarshal(res.Result, &r) == nil {
		_ = json.Unmarshal(r.Meta[boundary.MetaKey], &f) // absent on a bare server
	}
	return f
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 120 {
		s = s[:120] + "..."
	}
	return s
}

// leastMisbehaviours are tried on each of tools, prompts and resources.
const leastMisbehaviours = 125

var eras = []judge.Era{judge.Modern, judge.Legacy}

// With a boundary every misbehaviour, in each era and over each transport, ends
// in exactly one well-formed answer of the kind the table names, the next call
// works, and one server process lives through all of them. In memory, once the handlers
// that hang are released, no goroutine is left: the bubble fails the test if one outlives it.
func TestEveryMisbehaviourGetsOneAnswer(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, transports)
	for _, tr := range transports {
		for _, era := range eras {
			t.Run(fmt.Sprintf("%s/%s", tr.name, era), func(t *testing.T) {
				t.Parallel()
				misbehave := func(t *testing.T) {
					release := make(chan struct{})
					cases := badCases(release)
					require.GreaterOrEqual(t, len(cases), leastMisbehaviours)
					server := must(boundedServer(cases))(t)
					client, shut, err := tr.open(t.Context(), era, server)
					require.NoError(t, err)
					defer shut()
					defer close(release)
					for _, place := range sites {
						misbehaveAt(t, client, place, era, casesAt(place, cases))
					}
				}
				if tr.name == "memory" {
					synctest.Test(t, misbehave)
				} else {
					misbehave(t)
				}
			})
		}
	}
}

func misbehaveAt(t *testing.T, client *wire.Client, place site, era judge.Era, cases []badCase) {
	require.GreaterOrEqual(t, len(cases), leastMisbehaviours)
	for _, c := range cases {
		v := runAt(t.Context(), client, place, era, c)
		outcome, kind := c.wantedAt(place, era)
		require.Empty(t, v.Fault, "%s %s: %s", place, c.Name, c.Explanation)
		require.Equal(t, outcome, v.Outcome, "%s %s: %s", place, c.Name, c.Explanation)
		if kind != "" {
			require.Equal(t, kind, v.Type, "%s %s: %s", place, c.Name, c.Explanation)
		}
	}
	t.Logf("%s: %d misbehaviours, %d well-formed answers", place, len(cases), len(cases))
}

// A transport connects a raw client to a server.
type transport struct {
	name string
	open func(ctx context.Context, era judge.Era, server *mcp.Server) (client *wire.Client, shut func(), err error)
}

var transports = []transport{
	{"memory", openMemory},
	{"http", openHTTP},
	{"stdio", openStdio},
	{"websocket", openWebSocket},
}

func openMemory(ctx context.Context, era judge.Era, server *mcp.Server) (*wire.Client, func(), error) {
	there, here := mcp.NewInMemoryTransports()
	session, err := server.Connect(ctx, there, nil)
	if err != nil {
		return nil, nil, err
	}
	client, err := wire.Dial(ctx, here, era.Client())
	return client, func() { client.Close(); session.Close() }, err
}

// openHTTP serves the modern era without sessions and the legacy era with them, since
// go-sdk can ask each era's clients in only one of the two ways.
func openHTTP(ctx context.Context, era judge.Era, server *mcp.Server) (*wire.Client, func(), error) {
	front := httptest.NewServer(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: era == judge.Modern, Logger: quiet}))
	client, err := wire.DialHTTP(ctx, front.URL, front.Client(), era.Client())
	return client, func() { client.Close(); front.CloseClientConnections(); front.Close() }, err
}

// serveVariable makes this test binary serve the misbehaving tools, over "stdio" or
// over "http". The tests of interop set it too.
const serveVariable = "BOUNDARY_TEST_SERVE"

// openStdio starts this test binary again, as a server of the same tools.
func openStdio(ctx context.Context, era judge.Era, _ *mcp.Server) (*wire.Client, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveVariable+"=stdio")
	client, err := wire.Dial(ctx, &mcp.CommandTransport{Command: cmd}, era.Client())
	if err != nil {
		return nil, nil, err
	}
	return client, func() {
		cmd.Process.Kill() // some of its tools hang
		client.Close()
	}, nil
}

// serve serves the misbehaving tools until its input ends.
func serve(over string) error {
	cases := badCases(nil)
	server, err := boundedServer(cases)
	if err != nil {
		return err
	}
	if over == "http" {
		return serveHTTP(server, cases)
	}
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

// expectation is the part of a case that a client in another language needs.
type expectation struct {
	Place     site                        `json:"place"`
	Name      string                      `json:"name"`
	Arguments any                         `json:"arguments,omitempty"` // the wrong ones
	Unlawful  bool                        `json:"unlawful,omitempty"`  // no client library sends such arguments
	Asks      bool                        `json:"asks,omitempty"`      // a client that can be asked gets another answer
	Outcomes  map[judge.Era]judge.Outcome `json:"outcomes"`
}

// serveHTTP serves each era under its own path, as openHTTP does. /cases lists the
// outcome that each call must have. It prints its address.
func serveHTTP(server *mcp.Server, cases []badCase) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for path, stateless := range map[string]bool{"/modern/mcp": true, "/legacy/mcp": false} {
		mux.Handle(path, mcp.NewStreamableHTTPHandler(
			func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
	}
	mux.HandleFunc("/cases", func(w http.ResponseWriter, _ *http.Request) {
		var all []expectation
		for _, place := range sites {
			for _, c := range casesAt(place, cases) {
				if c.Endless {
					continue
				}
				e := expectation{place, c.Name, c.Arguments, c.Wire != "", c.Asks, map[judge.Era]judge.Outcome{}}
				for _, era := range eras {
					e.Outcomes[era], _ = c.wantedAt(place, era)
				}
				all = append(all, e)
			}
		}
		if err := json.NewEncoder(w).Encode(all); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
	fmt.Printf("listening on http://%s\n", listener.Addr())
	go func() {
		fmt.Fprintln(os.Stderr, http.Serve(listener, mux))
		os.Exit(1)
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func openWebSocket(ctx context.Context, era judge.Era, server *mcp.Server) (*wire.Client, func(), error) {
	handler, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		return nil, nil, err
	}
	front := httptest.NewServer(handler)
	dialled, err := wstransport.Dial(ctx, "ws"+strings.TrimPrefix(front.URL, "http"),
		&wstransport.DialOptions{MaxMessageBytes: 64 << 20})
	if err != nil {
		return nil, nil, err
	}
	client, err := wire.Dial(ctx, dialled, era.Client())
	return client, func() { client.Close(); front.CloseClientConnections(); front.Close() }, err
}

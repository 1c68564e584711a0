//go:build unix

package killed

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Backend is where the processes of a test remember their rounds.
type Backend struct {
	// Open opens the store in a process. Where is an address that the test passes on.
	// A nil store remembers nothing, and so does a nil Open.
	Open func(ctx context.Context, where string) (store.Store, error)
	// Forwarder makes the one of a process, for calls that are forwarded.
	Forwarder func(where string) (mrtr.Forwarder, error)
	// Rows are added to those that every backend has.
	Rows []Row
}

// job is the task of a process.
type job struct {
	Where string // of the backend
	Till  string // the file of payments
	Key   string // that seals states
	Row   string
	Lease time.Duration
	Tries int           // MaxAttempts
	Slow  time.Duration // of an effect
	// Forwards gives the process a Forwarder.
	Forwards bool

	Point Point
	Stop  bool // rather than kill
}

const jobVariable = "MRTR_KILLED_JOB"

// Serve runs this process as a server if it was started as one, and then does not
// return. TestMain calls it first.
func Serve(backend Backend) {
	text := os.Getenv(jobVariable)
	if text == "" {
		return
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.serve(context.Background(), backend)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the server of a test:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve serves the tool over standard input and output until the input ends.
func (j job) serve(ctx context.Context, backend Backend) error {
	trap := &trap{point: j.Point, signal: syscall.SIGKILL}
	if j.Stop {
		trap.signal = syscall.SIGSTOP
	}
	row, ok := rowOf(slices.Concat(Rows, ForwardRows, backend.Rows), j.Row)
	if !ok {
		return fmt.Errorf("there is no row %q", j.Row)
	}
	key, err := statecodec.ParseKey(j.Key)
	if err != nil {
		return err
	}
	opts := &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}}
	if backend.Open != nil {
		s, err := backend.Open(ctx, j.Where)
		if err != nil {
			return err
		}
		if s != nil {
			opts.Store = trapped{s, trap}
			opts.Remember = &mrtr.RememberOptions{Lease: j.Lease, MaxAttempts: j.Tries}
		}
	}
	if j.Forwards {
		if opts.Forwarder, err = backend.Forwarder(j.Where); err != nil {
			return err
		}
	}
	rt, err := mrtr.New(opts)
	if err != nil {
		return err
	}
	server, err := newServer(rt, row, &Till{path: j.Till, trap: trap, slow: j.Slow, remembered: opts.Store != nil})
	if err != nil {
		return err
	}
	server.AddReceivingMiddleware(afterResult(trap))
	_ = server.Run(ctx, &mcp.StdioTransport{}) // the end of the input is its error
	return rt.Close()
}

func newServer(rt *mrtr.Runtime, row Row, till *Till) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	handler := row.Opts
	mcp.AddTool(server, &mcp.Tool{Name: toolName}, mrtr.Tool(rt, row.Style(till), &handler))
	// The boundary names the type of an error.
	err := boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)})
	return server, err
}

// afterResult springs the trap when the result is made and not sent yet.
func afterResult(trap *trap) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if res, ok := res.(*mcp.CallToolResult); ok && err == nil && res.InputRequests == nil {
				trap.at(AfterResult)
			}
			return res, err
		}
	}
}

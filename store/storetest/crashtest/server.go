//go:build unix

package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// job is the task of a process.
type job struct {
	Address string // of the records
	Till    string // the file of payments
	Key     string // that seals states
	Row     string
	Lease   time.Duration
	Tries   int           // MaxAttempts
	Slow    time.Duration // of an effect
	// Takers is a file in which a process notes that it has taken a round over and kills
	// itself in it, as every second one does; "" where none does.
	Takers string

	Point Point
	Stop  bool // rather than kill
	Tasks bool // every call is one, and has a question behind its effect
	// Unsteady: the store stops now and then.
	Unsteady bool

	// Bell is where its rounds ring. A process with one serves the rows of the outcomes,
	// each as a tool of its own, over HTTP too.
	Bell string
}

const jobVariable = "MRTR_CRASHTEST_JOB"

// serve runs this process as a server if it was started as one, and then does not
// return.
func (b *Backend) serve() {
	text := os.Getenv(jobVariable)
	if text == "" {
		return
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.serve(context.Background(), b)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the server of a test:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve serves the tool over standard input and output until the input ends.
func (j job) serve(ctx context.Context, b *Backend) error {
	trap := &trap{point: j.Point, signal: syscall.SIGKILL}
	if j.Stop {
		trap.signal = syscall.SIGSTOP
	}
	tools := outcomeTools()
	if j.Bell == "" {
		row, ok := rowOf(slices.Concat(Rows, stormRows, b.Rows), j.Row)
		if !ok {
			return fmt.Errorf("there is no row %q", j.Row)
		}
		row.Opts.Task.AtOnce = j.Tasks
		tools = map[string]Row{toolName: row}
	}
	key, err := statecodec.ParseKey(j.Key)
	if err != nil {
		return err
	}
	opts := &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}}
	s, err := b.Open(ctx, j.Address)
	if err != nil {
		return err
	}
	if j.Unsteady {
		s = tapped{s, unsteady}
	}
	if s != nil {
		opts.Store = tapped{s, trap.around}
		opts.Remember = &mrtr.RememberOptions{Lease: j.Lease, MaxAttempts: j.Tries}
	}
	if j.Takers != "" {
		opts.Observer = taker{j.Takers}
	}
	rt, err := mrtr.New(opts)
	if err != nil {
		return err
	}
	till := &Till{path: j.Till, trap: trap, slow: j.Slow, remembered: opts.Store != nil, mails: j.Tasks, bell: j.Bell}
	server, err := newServer(rt, till, tools)
	if err != nil {
		return err
	}
	mrtr.AddTool(server, &mcp.Tool{Name: haltTool}, trap.halt)
	server.AddReceivingMiddleware(afterResult(trap))
	flush := func(context.Context) error { return nil }
	if j.Tasks {
		m, err := tasks.Install(server, &tasks.Options{Runtime: rt})
		if err != nil {
			return err
		}
		flush = func(context.Context) error { return m.Close() }
	}
	if j.Bell != "" {
		server.AddReceivingMiddleware(till.ringRequests)
		if flush, err = till.listen(server); err != nil {
			return err
		}
	}
	_ = server.Run(ctx, &mcp.StdioTransport{}) // the end of the input is its error
	till.ring("", draining)
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if j.Tasks { // before the runtime, to which no more answers come
		return errors.Join(flush(ctx), rt.Close())
	}
	return errors.Join(rt.Drain(ctx), flush(ctx))
}

// drainTime bounds the drain of a process whose input has ended.
const drainTime = 30 * time.Second

// taker kills its process in a round that it has taken over, before the effect, in it or
// after it.
type taker struct{ file string }

func (k taker) Observe(_ context.Context, e mrtr.Event) {
	if e.Kind != mrtr.RoundTakenOver || rand.IntN(2) == 0 {
		return
	}
	time.AfterFunc(rand.N(effectTime+effectTime/2), func() {
		note := &Till{path: k.file}
		_ = note.enter("killed", e.Call)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	})
}

func newServer(rt *mrtr.Runtime, till *Till, tools map[string]Row) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for name, row := range tools {
		mrtr.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, row.Style(till), &row.Opts))
	}
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

// Instances are servers of this process that share their key and their till. Each
// serves one row, with a store or without.
type Instances struct {
	Lease time.Duration // of those that are started from now on
	key   statecodec.Key
	till  string
	t     *testing.T
}

// NewInstances returns none yet.
func NewInstances(t *testing.T) *Instances {
	return &Instances{Lease: lease, t: t, key: statecodec.GenerateKey(), till: filepath.Join(t.TempDir(), "payments")}
}

// Start serves a row to the client that it returns. Hook, if set, runs when the effect
// has happened.
func (in *Instances) Start(s store.Store, row Row, hook func()) *Client {
	in.t.Helper()
	remember := &mrtr.RememberOptions{Lease: in.Lease, Patience: outagePatience, Wait: 2 * in.Lease}
	_, conn := in.start(s, remember, map[string]Row{toolName: row}, hook)
	return &Client{conn: conn, tool: toolName}
}

func (in *Instances) start(s store.Store, remember *mrtr.RememberOptions, tools map[string]Row, hook func()) (*mrtr.Runtime, *wire.Client) {
	in.t.Helper()
	opts := &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{in.key}}}
	if s != nil {
		opts.Store, opts.Remember = s, remember
	}
	rt, err := mrtr.New(opts)
	require.NoError(in.t, err)
	server, err := newServer(rt, &Till{path: in.till, trap: &trap{}, hook: hook}, tools)
	require.NoError(in.t, err)
	conn, err := wire.Connect(in.t.Context(), server, &wire.Options{Unrecorded: true})
	require.NoError(in.t, err)
	in.t.Cleanup(func() {
		_ = conn.Close()
		require.NoError(in.t, rt.Close())
	})
	return rt, conn
}

// Paid are the payments so far.
func (in *Instances) Paid() []Receipt {
	in.t.Helper()
	paid, err := readPayments(in.till)
	require.NoError(in.t, err)
	return paid
}

//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

const toolName = "pay"

// job is what a process serves.
type job struct {
	Backend string
	Address string // of the records
	Ledger  fleet.Ledger
	Key     string // that seals states
	Row     string
	Lease   time.Duration
	Tries   int // MaxAttempts
	// Takers is a file in which a process notes that it has taken a round over and kills
	// itself in it, as every second one does; "" where none does.
	Takers fleet.Ledger

	Point    Point
	Stop     bool // rather than kill
	Tasks    bool // every call is one, and has a question behind its effect
	Unsteady bool // the store stops now and then

	// Bell is where its rounds ring. A process with one serves the rows of the outcomes,
	// each as a tool of its own, over HTTP too.
	Bell string
}

// drainTime bounds the drain of a process whose input has ended.
const drainTime = 30 * time.Second

// Main runs the tests, or serves calls on one of the backends if a test started this
// process for that.
func Main(m *testing.M, backends ...*Backend) int {
	return fleet.Main(m, func(j job) error {
		for _, b := range backends {
			if b.Name == j.Backend {
				return j.serve(context.Background(), b)
			}
		}
		return fmt.Errorf("there is no backend %q", j.Backend)
	})
}

// serve serves the tool over standard input and output until the input ends.
func (j job) serve(ctx context.Context, b *Backend) error {
	trap := &trap{point: j.Point, stop: j.Stop}
	shop := &fleet.Shop{Ledger: j.Ledger, Mails: j.Tasks, Reach: func(order, place string) {
		ring(j.Bell, order, place)
		trap.reach(place)
	}}
	tools := outcomeTools()
	if j.Bell == "" {
		row := fleet.Find(j.Row)
		row.Opts.Task.AtOnce = j.Tasks
		tools = map[string]fleet.Row{toolName: row}
	}
	s, err := b.Open(ctx, j.Address)
	if err != nil {
		return err
	}
	if j.Unsteady {
		s = fleet.Tapped{Store: s, Around: unsteady}
	}
	opts := &mrtr.Options{Store: fleet.Tapped{Store: s, Around: trap.around}, Remember: &mrtr.RememberOptions{Lease: j.Lease, MaxAttempts: j.Tries}}
	if j.Takers != "" {
		opts.Observer = taker(j.Takers)
	}
	rt, server, err := newServer(opts, j.Key, shop, tools)
	if err != nil {
		return err
	}
	mrtr.AddTool(server, &mcp.Tool{Name: haltTool}, trap.halt)
	server.AddReceivingMiddleware(trap.afterResult)
	flush := func(context.Context) error { return nil }
	if j.Tasks {
		m, err := tasks.Install(server, &tasks.Options{Runtime: rt})
		if err != nil {
			return err
		}
		_ = server.Run(ctx, &mcp.StdioTransport{}) // the end of the input is its error
		return errors.Join(m.Close(), rt.Close())
	}
	if j.Bell != "" {
		if flush, err = listen(server, j.Bell); err != nil {
			return err
		}
	}
	_ = server.Run(ctx, &mcp.StdioTransport{})
	ring(j.Bell, "", draining)
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	return errors.Join(rt.Drain(ctx), flush(ctx))
}

// taker kills its process in a round that it has taken over, before the effect, in it or
// after it.
type taker fleet.Ledger

func (k taker) Observe(_ context.Context, e mrtr.Event) {
	if e.Kind != mrtr.RoundTakenOver || rand.IntN(2) == 0 {
		return
	}
	time.AfterFunc(rand.N(effectTime+effectTime/2), func() {
		_ = fleet.Ledger(k).Enter("killed", e.Call)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	})
}

// unsteady is a tap that fails for 0.2 seconds of each second, at all processes at once. Of
// the operations that fail then, one in three was not run, one has been, and one will be.
func unsteady(_ context.Context, _ fleet.Operation, run, late func() error) error {
	if time.Now().UnixMilli()%1000 >= 200 {
		return run()
	}
	switch rand.IntN(3) {
	case 0:
		_ = run()
	case 1:
		if late != nil {
			time.AfterFunc(rand.N(100*time.Millisecond), func() { _ = late() })
		}
	}
	return fleet.ErrCut
}

func newServer(opts *mrtr.Options, key string, shop *fleet.Shop, tools map[string]fleet.Row) (*mrtr.Runtime, *mcp.Server, error) {
	seal, err := statecodec.ParseKey(key)
	if err != nil {
		return nil, nil, err
	}
	opts.State = &statecodec.Options{Keys: []statecodec.Key{seal}}
	rt, err := mrtr.New(opts)
	if err != nil {
		return nil, nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for name, row := range tools {
		mrtr.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, row.Style(shop), &row.Opts))
	}
	// The boundary names the type of an error.
	return rt, server, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)})
}

// instances are servers of this process that share their key and their ledger.
type instances struct {
	key    string
	ledger fleet.Ledger
}

func newInstances(t *testing.T) *instances {
	return &instances{newKey(), fleet.Ledger(filepath.Join(t.TempDir(), "payments"))}
}

// start serves tools from a store until the test ends. Its faults are those of package fault.
func (in *instances) start(t *testing.T, s store.Store, remember mrtr.RememberOptions, tools map[string]fleet.Row, reach func(order, place string)) (*mrtr.Runtime, *wire.Client) {
	rt, server, err := newServer(&mrtr.Options{Store: s, Remember: &remember}, in.key, &fleet.Shop{Ledger: in.ledger, Reach: reach}, tools)
	fault.Check(err)
	conn := fault.Must(wire.Connect(t.Context(), server, &wire.Options{Unrecorded: true}))
	t.Cleanup(func() {
		_ = conn.Close()
		require.NoError(t, rt.Close())
	})
	return rt, conn
}

// one serves the journal, to the client that it returns. Hook, if set, runs when the effect
// has ended.
func (in *instances) one(t *testing.T, s store.Store, lease time.Duration, hook func()) *fleet.Client {
	remember := mrtr.RememberOptions{Lease: lease, Patience: outagePatience, Wait: 2 * lease}
	client := &fleet.Client{Tool: toolName}
	require.NoError(t, fault.Caught(func() {
		_, client.Conn = in.start(t, s, remember, map[string]fleet.Row{toolName: fleet.Find("journal")}, func(_, place string) {
			if place == fleet.EffectEnds && hook != nil {
				hook()
			}
		})
	}))
	return client
}

func (in *instances) paid(t *testing.T) []fleet.Receipt {
	t.Helper()
	paid, err := fleet.Payments(in.ledger)
	require.NoError(t, err)
	return paid
}

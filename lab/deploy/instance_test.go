//go:build unix

package deploy_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/serve"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store/sqlitestore"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// job is what a process serves. It is in the environment of the process.
type job struct {
	Name    string
	Address string        // at which it listens
	Store   string        // the file of rounds
	Key     string        // that seals states
	Ledger  fleet.Ledger  // of effects
	Effect  time.Duration // how long a charge takes
	Gate    string        // the file for which a charge waits; none if empty
	Lease   time.Duration
	Logged  bool
}

func TestMain(m *testing.M) { os.Exit(fleet.Main(m, job.serve)) }

// serve serves until SIGTERM.
func (j job) serve() error {
	key, err := statecodec.ParseKey(j.Key)
	if err != nil {
		return err
	}
	rounds, err := sqlitestore.Open(context.Background(), j.Store, nil)
	if err != nil {
		return err
	}
	defer rounds.Close()
	logger := slog.New(slog.DiscardHandler)
	if j.Logged {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("instance", j.Name)
	}
	rt, err := mrtr.New(&mrtr.Options{
		Durable:  durable.In(rounds, &durable.Options{Lease: j.Lease, Patience: j.Lease / 5}),
		State:    &statecodec.Options{Keys: []statecodec.Key{key}, Instance: j.Name},
		Listener: observe.With(observe.Log(logger)),
	})
	if err != nil {
		return err
	}
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, &mcp.ServerOptions{GetSessionID: mcphttp.SessionIDs(j.Name)})
	shop := &shop{ledger: j.Ledger, effect: j.Effect, gate: j.Gate}
	for name, style := range shop.styles() {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, style, nil))
	}
	sockets, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		return err
	}
	return serve.HTTP(context.Background(), j.Address, server, &serve.Options{
		Runtime:   rt,
		Endpoints: map[string]serve.Endpoint{"/ws": sockets},
		Logger:    logger,
		Unready:   2 * time.Second, // twice the time after which the router asks again
		Listening: func(net.Addr) { fmt.Println("ready") },
	})
}

// instance is such a process.
type instance struct {
	job
	*fleet.Process
}

// start starts one, and returns when it listens.
func start(t *testing.T, j job) *instance {
	t.Helper()
	process, err := fleet.Start(j)
	require.NoError(t, err)
	t.Cleanup(process.Kill)
	line, err := process.Line()
	require.NoErrorf(t, err, "instance %s does not listen", j.Name)
	require.Equal(t, "ready\n", line)
	return &instance{j, process}
}

// replace tells the process to stop, waits for its end, and starts another one in its place.
func (i *instance) replace(t *testing.T) *instance {
	t.Helper()
	require.NoError(t, i.Signal(syscall.SIGTERM))
	require.NoErrorf(t, i.Wait(), "instance %s did not stop well", i.Name)
	return start(t, i.job)
}

// order is the input of every tool, and receipt its result.
type order struct {
	Location string `json:"location"`
}

type receipt struct {
	Paid string `json:"paid"`
}

var confirm = mrtr.Confirm("pay", "Pay?")

// shop sells a seat: it holds it, asks whether to pay, and charges for it. A hold is
// released if the call stops.
type shop struct {
	ledger fleet.Ledger
	gate   string
	effect time.Duration
}

func (s *shop) hold(_ context.Context, in order) (string, error) {
	return in.Location, s.ledger.Enter("held", in.Location)
}

func (s *shop) release(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
	if u.InDoubt {
		return mrtr.ErrIndeterminate
	}
	return s.ledger.Enter("released", u.Value)
}

// charge takes its time whatever happens.
func (s *shop) charge(_ context.Context, in order) (receipt, error) {
	if err := s.ledger.Enter("charging", in.Location); err != nil {
		return receipt{}, err
	}
	time.Sleep(s.effect)
	for s.gate != "" {
		if _, err := os.Stat(s.gate); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return receipt{in.Location}, s.ledger.Enter("charged", in.Location)
}

func (s *shop) linear(ctx context.Context, c *mrtr.Call, in order) (receipt, error) {
	if _, err := mrtr.Once(ctx, c, "hold", func(ctx context.Context, _ string) (string, error) { return s.hold(ctx, in) }); err != nil {
		return receipt{}, err
	}
	if _, err := linear.Ask(ctx, c, confirm); err != nil {
		return receipt{}, err
	}
	return mrtr.Once(ctx, c, "charge", func(ctx context.Context, _ string) (receipt, error) { return s.charge(ctx, in) })
}

// guarded has its effects in Once if noted is set. Else it asks before it does anything.
func (s *shop) guarded(noted bool) mrtr.Style[order, receipt] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, in order) (*mrtr.IncompleteResult, receipt, error) {
		if noted {
			if _, err := mrtr.Once(ctx, c, "hold", func(ctx context.Context, _ string) (string, error) { return s.hold(ctx, in) }); err != nil {
				return nil, receipt{}, err
			}
		}
		if _, ok := mrtr.Answer(c, confirm); !ok {
			return mrtr.Need(confirm), receipt{}, nil
		}
		if !noted {
			out, err := s.charge(ctx, in)
			return nil, out, err
		}
		out, err := mrtr.Once(ctx, c, "charge", func(ctx context.Context, _ string) (receipt, error) { return s.charge(ctx, in) })
		return nil, out, err
	})
}

func (s *shop) steps() mrtr.Style[order, receipt] {
	var list steps.List[order, receipt]
	held := steps.Do(&list, "hold", func(ctx context.Context, at *steps.At[order], _ string) (string, error) { return s.hold(ctx, at.In) })
	steps.OnStop(&list, held, s.release)
	steps.Always(&list, confirm)
	paid := steps.Do(&list, "charge", func(ctx context.Context, at *steps.At[order], _ string) (receipt, error) { return s.charge(ctx, at.In) })
	list.End(func(_ context.Context, at *steps.At[order]) (receipt, error) { return paid.Of(at), nil })
	return list.MustBuild()
}

// styles are the tools.
func (s *shop) styles() map[string]mrtr.Style[order, receipt] {
	undo := mrtr.UndoOf("hold", s.release)
	return map[string]mrtr.Style[order, receipt]{
		"native":    s.guarded(false),
		"once":      s.guarded(true).OnStop(undo),
		"steps":     s.steps(),
		"journal":   linear.Journal(s.linear).OnStop(undo),
		"resumable": linear.Resumable(s.linear).OnStop(undo),
		"coroutine": linear.Coroutine(s.linear).OnStop(undo),
	}
}

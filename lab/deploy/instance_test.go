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
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/serve"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store/sqlitestore"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// job is what a process serves. It is in the environment of the process.
type job struct {
	Name    string
	Address string       // at which it listens
	Store   string       // the file of rounds
	Key     string       // that seals states
	Ledger  fleet.Ledger // of effects
	Gate    string       // the file for which a charge waits; none if empty
	Lease   time.Duration
	Logged  bool

	program string // of the release
}

// ownRelease is this test's.
var ownRelease = os.Args[0]

// releases are those that a deploy replaces one by the other: this one by itself, and if MRTR_BEFORE
// names a binary of this test of an earlier one, each by the other.
func releases() map[string][2]string {
	before := os.Getenv("MRTR_BEFORE")
	if before == "" {
		return map[string][2]string{"": {ownRelease, ownRelease}}
	}
	return map[string][2]string{" to this release": {before, ownRelease}, " back from this release": {ownRelease, before}}
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
	for _, name := range styleNames {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, fleet.Find(name).Style(j.shop()), &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}}))
	}
	sockets, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		return err
	}
	return serve.HTTP(context.Background(), j.Address, server, &serve.Options{
		Runtime:   rt,
		Tasks:     &tasks.Options{Runtime: rt},
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
	process, err := fleet.StartOf(j.program, j)
	require.NoError(t, err)
	t.Cleanup(process.Kill)
	line, err := process.Line()
	require.NoErrorf(t, err, "instance %s does not listen", j.Name)
	require.Equal(t, "ready\n", line)
	return &instance{j, process}
}

// replace tells the process to stop, waits for its end, and starts another one in its place.
func (i *instance) replace(t *testing.T, program string) *instance {
	t.Helper()
	require.NoError(t, i.Signal(syscall.SIGTERM))
	require.NoErrorf(t, i.Wait(), "instance %s did not stop well", i.Name)
	i.job.program = program
	return start(t, i.job)
}

// shop is what the instances sell by. An effect that begins is noted, and waits for the gate.
func (j job) shop() *fleet.Shop {
	return &fleet.Shop{Ledger: j.Ledger, Holds: true, Reach: func(order, place string) {
		if place != fleet.InTheEffect {
			return
		}
		_ = j.Ledger.Enter("charging", order)
		for j.Gate != "" {
			if _, err := os.Stat(j.Gate); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}}
}

// styleNames are the tools, rows of the fleet.
var styleNames = []string{"coroutine", "journal", "native", "once", "resumable", "steps"}

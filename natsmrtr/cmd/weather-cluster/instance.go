package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/natsmrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

// instanceVariable holds the settings of a process that is an instance.
const instanceVariable = "WEATHER_CLUSTER_INSTANCE"

type settings struct {
	NATS  string
	Key   string
	Audit string
	Lease time.Duration
}

// notice is one message of an instance on its standard output, a line of JSON each. It goes
// on when the other side has sent a line back: so the transcript has everything in its
// order, and an instance can be killed exactly where it stands.
type notice struct {
	Address string `json:",omitempty"` // it listens here
	Did     string `json:",omitempty"`
}

// runInstance serves until the standard input ends.
func runInstance(text string) error {
	signal.Ignore(os.Interrupt) // Ctrl-C reaches all processes; the first one stops the others
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	told := &teller{out: json.NewEncoder(os.Stdout), answered: make(chan struct{})}
	go func() {
		defer stop()
		told.listen(os.Stdin)
	}()
	return s.serve(ctx, told)
}

// teller tells notices.
type teller struct {
	mu       sync.Mutex
	out      *json.Encoder
	answered chan struct{} // closed when nobody listens any more
}

func (t *teller) listen(in io.Reader) {
	defer close(t.answered)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		t.answered <- struct{}{}
	}
}

func (t *teller) tell(n notice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out.Encode(n) == nil {
		<-t.answered
	}
}

func (t *teller) did(what string) { t.tell(notice{Did: what}) }

// Observe tells the events of calls.
func (t *teller) Observe(_ context.Context, e mrtr.Event) {
	switch e.Kind {
	case mrtr.RoundClaimed:
		t.did(fmt.Sprintf("claims round %d", e.Round))
	case mrtr.RoundTakenOver:
		t.did(fmt.Sprintf("hears nothing of the other for a lease, and takes round %d over", e.Round))
	case mrtr.RoundRepeated:
		t.did(fmt.Sprintf("returns the result that round %d had", e.Round))
	case mrtr.QuestionsAsked:
		t.did("asks " + strings.Join(e.Questions, ", "))
	case mrtr.CallCompleted:
		t.did("completes the call")
	case mrtr.RoundRefused, mrtr.RoundUnknown, mrtr.RoundNotRecorded, mrtr.StateRefused, mrtr.CallStopped:
		t.did(fmt.Sprintf("%s %s %v", e.Kind, e.Reason, e.Err))
	}
}

func (s settings) serve(ctx context.Context, told *teller) error {
	nc, err := nats.Connect(s.NATS, nats.ReconnectBufSize(-1))
	if err != nil {
		return err
	}
	defer nc.Close()
	rounds, err := natsmrtr.Open(ctx, nc, nil)
	if err != nil {
		return err
	}
	key, err := statecodec.ParseKey(s.Key)
	if err != nil {
		return err
	}
	rt, err := mrtr.New(&mrtr.Options{
		Store: rounds, Remember: &mrtr.RememberOptions{Lease: s.Lease},
		State:    &statecodec.Options{Keys: []statecodec.Key{key}},
		Observer: told,
	})
	if err != nil {
		return err
	}
	t := tool{audit: auditFile(s.Audit), tell: told.did}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather-cluster", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: toolName, Description: "The weather at a place."},
		mrtr.Tool(rt, mrtr.Journal(t.weather), &mrtr.HandlerOptions{Needs: options.Always}))
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := boundary.Install(server, &boundary.Options{Logger: logger}); err != nil {
		return err
	}
	handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{Stateless: true, Logger: logger})
	if err != nil {
		return err
	}
	return errors.Join(listen(ctx, handler, told), rt.Close())
}

const toolName = "weather"

// drain is how long running requests may take at the end.
const drain = 3 * time.Second

func listen(ctx context.Context, handler *mcphttp.Handler, told *teller) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	told.tell(notice{Address: listener.Addr().String()})
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	_ = handler.Shutdown(ending) // it cancels the calls that take longer
	_ = web.Close()
	return nil
}

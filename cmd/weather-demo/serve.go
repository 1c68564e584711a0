package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/page"
	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/wstransport"
)

const serveAbout = `Serves the tools until SIGINT, SIGTERM or, on stdio, the end of the input. Each
round is one line on stderr. States are sealed with the keys in MRTR_KEYS, each
of 32 bytes or more in base64 or hex, separated by commas; the first one seals.

  weather-demo serve -stdio
  weather-demo serve -http 127.0.0.1:8080
  MRTR_KEYS=$(openssl rand -base64 32) weather-demo serve -http 127.0.0.1:8080`

// keysVariable names the environment variable with the keys that seal states.
const keysVariable = "MRTR_KEYS"

// drainTime is how long running rounds may take to finish at the end.
const drainTime = 3 * time.Second

// serve offers the tools until it is told to stop.
func serve(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	address := f.String("http", "", "serve HTTP on this `address`: /mcp for both eras, /ws for WebSocket; port 0 takes a free one")
	stdio := f.Bool("stdio", false, "serve stdin and stdout; so does serve without flags")
	stateless := f.Bool("stateless", false, "with -http: hold no session, so that old clients cannot be asked")
	public := f.Bool("page", false, "with -http: serve the page to other machines too; on a loopback address it is always served")
	withLandmine := f.Bool("landmine", false, "serve the two exhibits, B and N, as well")
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	switch {
	case *stdio && *address != "":
		return usageError{"serve takes -stdio or -http, not both"}
	case *stateless && *address == "":
		return usageError{"serve takes -stateless with -http only"}
	}
	log := &serveLog{out: t.err}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	rt, err := newRuntime(log, *address != "")
	if err != nil {
		return err
	}
	defer func() {
		if err := rt.Close(); err != nil {
			logger.Error("closing", "error", err)
		}
	}()
	var audited atomic.Int64
	audit := &options.Audit{Out: func(string) { log.printf("audit line %d written", audited.Add(1)) }}
	server := newServer(rt, audit, *withLandmine)
	if err := boundary.Install(server, &boundary.Options{Logger: slog.New(onlyFaults{logger.Handler()})}); err != nil {
		return err
	}
	server.AddReceivingMiddleware(log.middleware)
	if *address == "" {
		return serveStdio(ctx, server, t)
	}
	front := &httpFront{server: server, address: *address, stateless: *stateless, publicPage: *public}
	return front.serve(ctx, log, logger, t)
}

// newRuntime takes its keys from the environment. Without, it makes one up.
func newRuntime(log *serveLog, overHTTP bool) (*mrtr.Runtime, error) {
	opts := &mrtr.Options{Observer: log}
	if os.Getenv(keysVariable) != "" {
		keys, err := statecodec.KeysFromEnv(keysVariable)
		if err != nil {
			return nil, err
		}
		opts.State = &statecodec.Options{Keys: keys}
	} else if overHTTP {
		log.printf("warning: %s is not set, so states are sealed with a key of this process alone:", keysVariable)
		log.printf("warning: no other instance, nor this one after a restart, can go on with its calls")
	}
	return mrtr.New(opts)
}

// httpFront is what serve puts on an HTTP address.
type httpFront struct {
	server     *mcp.Server
	address    string
	stateless  bool
	publicPage bool
}

func (f *httpFront) serve(ctx context.Context, log *serveLog, logger *slog.Logger, t terminal) error {
	getServer := func(*http.Request) *mcp.Server { return f.server }
	both, err := mcphttp.NewHandler(getServer, &mcphttp.HandlerOptions{Stateless: f.stateless, Logger: logger})
	if err != nil {
		return err
	}
	ws, err := wstransport.NewHandler(getServer, nil)
	if err != nil {
		return err
	}
	played, err := page.New(&page.Options{Public: f.publicPage, Logger: logger})
	if err != nil {
		return err
	}
	defer played.Close()
	mux := http.NewServeMux()
	mux.Handle("/mcp", both)
	mux.Handle("/ws", ws)
	mux.Handle("/", played)
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "listening on http://%s\n", listener.Addr())
	fmt.Fprintf(t.out, "  http://%s/mcp  for clients of both eras\n", listener.Addr())
	fmt.Fprintf(t.out, "  ws://%s/ws     the same over WebSocket\n", listener.Addr())
	fmt.Fprintf(t.out, "  http://%s/     a page to play with, in a browser\n", listener.Addr())

	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return drain(web, log, ws.Shutdown, both.Shutdown)
}

// drain stops the endpoints, then the server under them. Calls that do not end
// in time are cancelled, which is not a failure: a user may think for long.
func drain(web *http.Server, log *serveLog, endpoints ...func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	errs := make([]error, len(endpoints))
	var all sync.WaitGroup
	for i, shutdown := range endpoints {
		all.Go(func() { errs[i] = shutdown(ctx) })
	}
	all.Wait()
	err := errors.Join(errs...)
	if errors.Is(err, context.DeadlineExceeded) {
		log.printf("the calls still under way after %s were cancelled", drainTime)
		err = nil
	}
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if web.Shutdown(grace) != nil {
		_ = web.Close() // what is left are connections of clients that do not let go
	}
	return err
}

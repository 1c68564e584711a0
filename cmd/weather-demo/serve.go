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
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/wstransport"
)

// keysVariable names the environment variable with the keys that seal states.
const keysVariable = "MRTR_KEYS"

// drainTime is how long running rounds may take to finish at the end.
const drainTime = 10 * time.Second

// serve offers the tools until it is told to stop.
func serve(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	address := f.String("http", "", "serve HTTP on this `address`: /mcp for both eras, /ws for WebSocket")
	stdio := f.Bool("stdio", false, "serve stdin and stdout (if no address is given)")
	stateless := f.Bool("stateless", false, "with -http: hold no session, so that old clients cannot be asked")
	withLandmine := f.Bool("landmine", false, "serve the two exhibits as well")
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	if *stdio && *address != "" {
		return usageError{"serve takes -stdio or -http, not both"}
	}
	logger := slog.New(slog.NewTextHandler(t.err, nil))
	rt, err := newRuntime(logger, *address != "")
	if err != nil {
		return err
	}
	defer func() {
		if err := rt.Close(); err != nil {
			logger.Error("closing", "error", err)
		}
	}()
	audit := &options.Audit{Out: func(line string) { logger.Info("audit", "line", line) }}
	server := newServer(rt, audit, *withLandmine)
	if *address == "" {
		return serveStdio(ctx, server)
	}
	return serveHTTP(ctx, server, *address, *stateless, logger, t)
}

// newRuntime takes its keys from the environment. Without, it makes one up.
func newRuntime(logger *slog.Logger, overHTTP bool) (*mrtr.Runtime, error) {
	opts := &mrtr.Options{Observer: mrtr.LogObserver(logger)}
	if os.Getenv(keysVariable) != "" {
		keys, err := statecodec.KeysFromEnv(keysVariable)
		if err != nil {
			return nil, err
		}
		opts.State = &statecodec.Options{Keys: keys}
	} else if overHTTP {
		logger.Warn("states are sealed with a key of this process alone: calls under way are lost when it stops, and no other instance can go on with them", "set", keysVariable)
	}
	return mrtr.New(opts)
}

func serveStdio(ctx context.Context, server *mcp.Server) error {
	err := server.Run(ctx, &mcp.StdioTransport{})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func serveHTTP(ctx context.Context, server *mcp.Server, address string, stateless bool, logger *slog.Logger, t terminal) error {
	getServer := func(*http.Request) *mcp.Server { return server }
	both, err := sse.NewHandler(getServer, &sse.HandlerOptions{Stateless: stateless, Logger: logger})
	if err != nil {
		return err
	}
	ws, err := wstransport.NewHandler(getServer, nil)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", both)
	mux.Handle("/ws", ws)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "listening on http://%s\n", listener.Addr())

	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	return errors.Join(ws.Shutdown(drain), both.Shutdown(drain), web.Shutdown(drain))
}

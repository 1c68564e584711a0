// Package serve runs a go-sdk server over HTTP the way it should run in production, in one
// call: clients of both eras on one URL, one well-formed result for every call, bounds on
// everything that a client can make large, a readiness check for the load balancer, and a
// stop that cuts off no round.
//
//	err := serve.HTTP(ctx, "127.0.0.1:8080", server, &serve.Options{Runtime: rt})
//
// It is [boundary.Install], [mcphttp.NewHandler] and the order of the stop that
// docs/operating.md explains, put together. Take those where a server needs another shape.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/unread"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// HTTP serves a server at an address such as "127.0.0.1:8080", until ctx ends or the process
// gets SIGINT or SIGTERM. Then what runs and what is held has the time of Stop, and it returns nil if
// all ended. A second signal ends the process at once. Without State.Keys, all other calls that
// wait for their users are lost, and not counted.
//
//	/mcp    clients of both eras
//	/ready  200, and 503 from the moment that the server is about to stop
//
// It sets GOGC to 400 while it serves, unless the environment sets GOGC.
func HTTP(ctx context.Context, address string, server *mcp.Server, opts *Options) error {
	o, err := opts.resolve()
	if err != nil {
		return err
	}
	if !o.Bare {
		if err := boundary.Install(server, o.Boundary); err != nil {
			return err
		}
	}
	if o.Tasks != nil {
		own := *o.Tasks
		if o.Auth != nil {
			own.Admit = o.Auth.admitAnd(own.Admit)
		}
		m, err := tasks.Install(server, &own)
		if err != nil {
			return err
		}
		defer m.Close()
		o.tasks = m
	}
	if o.Auth != nil {
		server.AddReceivingMiddleware(o.Auth.scoped)
	}
	front, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, o.Handler)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	ctx, ignore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer ignore()
	defer collectLess()()
	web := &http.Server{
		Handler:           o.paths(front),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	if o.Listening != nil {
		o.Listening(listener.Addr())
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		ignore() // the next signal is not for us
		return o.stop(web, front)
	}
}

// paths mounts the endpoints. No path waits for a body that its handler has left unread.
func (o *Options) paths(front *mcphttp.Handler) http.Handler {
	paths, guard := http.NewServeMux(), o.Guard
	if o.Auth != nil {
		o.Auth.describe(paths)
		guard = func(h http.Handler) http.Handler { return o.Guard(o.Auth.guard(h)) }
	}
	paths.Handle("/mcp", front.WithCORS(guard(front)))
	paths.HandleFunc("/ready", front.ServeReady)
	for path, e := range o.Endpoints {
		paths.Handle(path, guard(e))
	}
	if o.Others != nil {
		paths.Handle("/", o.Others)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer unread.Bound(w, r, unread.Within)
		paths.ServeHTTP(w, r)
	})
}

// stop ends a server. New clients go elsewhere first; then the handlers that are held get
// their answers, which the endpoints have to bring; then the requests that run get their
// results; and the connections close last.
func (o *Options) stop(web *http.Server, front *mcphttp.Handler) error {
	endpoints := []Endpoint{front}
	for _, e := range o.Endpoints {
		endpoints = append(endpoints, e)
	}
	for _, e := range endpoints {
		e.Retire()
	}
	time.Sleep(o.Unready)
	ctx, cancel := context.WithTimeout(context.Background(), o.Stop)
	defer cancel()
	drained, ends := o.drain(ctx), make(chan error)
	select {
	case <-drained:
	case <-ctx.Done(): // a call that came now would be cut off at once
	}
	for _, e := range endpoints {
		go func() { ends <- e.Shutdown(ctx) }()
	}
	var errs []error
	for range endpoints {
		errs = append(errs, <-ends)
	}
	<-drained
	errs = append(errs, o.failed...)
	last, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	if web.Shutdown(last) != nil {
		_ = web.Close() // clients keep these connections, and nothing runs on them
	}
	return errors.Join(errs...)
}

// drain ends the rounds of tasks, and then the handlers that are held: their tasks may need them.
// Once ctx has ended it closes both side by side, which takes 10 seconds at most. The channel is
// closed when they are over.
func (o *Options) drain(ctx context.Context) <-chan struct{} {
	var both sync.WaitGroup
	worked, drained := make(chan struct{}), make(chan struct{})
	o.failed = make([]error, 2)
	both.Go(func() {
		defer close(worked)
		if o.tasks != nil {
			o.failed[0] = o.tasks.Drain(ctx)
		}
	})
	both.Go(func() {
		select {
		case <-worked:
		case <-ctx.Done():
		}
		if o.Runtime != nil {
			o.failed[1] = o.Runtime.Drain(ctx)
		}
	})
	go func() {
		both.Wait()
		close(drained)
	}()
	return drained
}

// closing is how long clients may take to see that their connections end.
const closing = time.Second

// collectLess sets GOGC to 400 unless the environment does, and returns the way back.
func collectLess() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}

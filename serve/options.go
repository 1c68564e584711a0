package serve

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// Options change how a server is served. Each of them may be left out, and so may all.
type Options struct {
	// Runtime is drained when the server stops: handlers that it holds get their answers
	// first. It is a *mrtr.Runtime.
	Runtime interface{ Drain(context.Context) error }

	// Auth admits users to /mcp and the Endpoints, and tells clients where they log in. Without
	// it, and without a Guard, everybody is admitted.
	Auth *Auth

	// Guard is put around /mcp and the Endpoints, outside of Auth.
	Guard func(http.Handler) http.Handler

	// Endpoints are more ways to the server, by their path, which are stopped with it: a
	// *wstransport.Handler, for example.
	Endpoints map[string]Endpoint

	// Others serves all other paths. It is neither guarded nor stopped.
	Others http.Handler

	// Boundary and Handler are the options of those two. Their Logger is Logger, unless
	// they have another.
	Boundary *boundary.Options
	Handler  *mcphttp.HandlerOptions

	// Bare leaves the boundary out, for a server that has one already or is to have none.
	Bare bool

	// Tasks serves the tools that have a policy for it as tasks, outside of the boundary, and
	// lets go of those that run before the runtime drains. Do not install them besides. Each
	// round of a task passes the boundary, and has its Deadline: give tools that work for
	// longer a place in ToolDeadlines.
	Tasks *tasks.Options

	// Logger gets the causes of faults and the complaints of the HTTP server;
	// slog.Default() if nil.
	Logger *slog.Logger

	// Listening is called with the address when the first request may come.
	Listening func(net.Addr)

	// Unready is how long the server goes on as before when it stops, while /ready answers
	// 503 already: the time in which a load balancer notices. 0 if there is none, and twice
	// the Every of a [mcphttp.Router].
	Unready time.Duration

	// Stop is how long the calls may take after that, 25 seconds if zero. A call that still
	// runs then is cancelled, and left behind if it goes on for 10 seconds more. Have the
	// platform give the process 12 seconds more than the two together.
	Stop time.Duration

	tasks  *tasks.Manager // that of Tasks
	failed []error        // of the drain
}

// An Endpoint is a handler that can be stopped without cutting off a round, as those of mcphttp
// and wstransport can.
type Endpoint interface {
	http.Handler
	// Retire tells load balancers to send new clients elsewhere.
	Retire()
	// Shutdown refuses new calls, and waits for those that run.
	Shutdown(context.Context) error
}

func (opts *Options) resolve() (*Options, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	limits := usage.Of("serve", "Options")
	usage.Default(limits, "Unready", &o.Unready, 0)
	usage.Default(limits, "Stop", &o.Stop, 25*time.Second)
	if err := limits.Err(); err != nil {
		return nil, err
	}
	for path, e := range o.Endpoints {
		if path == "" || path[0] != '/' || path == "/mcp" || path == "/ready" || path == "/" {
			return nil, usage.New("serve", "Options.Endpoints: %q is no path of its own", path)
		}
		if e == nil {
			return nil, usage.New("serve", "Options.Endpoints: nil at %s", path)
		}
	}
	if o.Auth != nil {
		if err := o.Auth.check(); err != nil {
			return nil, err
		}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Guard == nil {
		o.Guard = func(h http.Handler) http.Handler { return h }
	}
	var b boundary.Options
	if o.Boundary != nil {
		b = *o.Boundary
	}
	var h mcphttp.HandlerOptions
	if o.Handler != nil {
		h = *o.Handler
	}
	b.Logger, h.Logger = cmp.Or(b.Logger, o.Logger), cmp.Or(h.Logger, o.Logger)
	o.Boundary, o.Handler = &b, &h
	return &o, nil
}

// A UsageError says that a package is used in a way that cannot work.
type UsageError = usage.Error

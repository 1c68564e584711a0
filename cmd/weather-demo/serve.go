package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/page"
	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/serve"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/stdio"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

const serveAbout = `Serves the tools until SIGINT, SIGTERM or, on stdio, the end of the input. Each
round is logged as one line on stderr. MRTR_KEYS holds the keys that seal
states: 32 bytes or more each, in base64 or hex, separated by commas. The first
key seals, and all of them open. An error result is logged as a warning if the
agent can correct it, and as an error with its cause otherwise.

  weather-demo serve -stdio
  weather-demo serve -http 127.0.0.1:8080
  MRTR_KEYS=$(openssl rand -base64 32) weather-demo serve -http 127.0.0.1:8080

-landmine, -ttl, -token and /charges are for a proof from outside:

  weather-demo serve -http 127.0.0.1:8080 -ttl 2s -token ann=a -token bob=b`

// keysVariable is the environment variable with the keys that seal states.
const keysVariable = "MRTR_KEYS"

// serveTools serves the tools until a signal or the end of the input.
func serveTools(ctx context.Context, c command, args []string, t terminal) error {
	f := c.flags()
	address := f.String("http", "", "serve HTTP on this `address`: /mcp for modern and legacy clients, /ws for WebSocket; port 0 picks a free one")
	stdio := f.Bool("stdio", false, "serve stdin and stdout (the default)")
	stock := f.Bool("stock-front", false, "with -http: let go-sdk's HTTP layer serve every request, for comparison")
	withLandmine := f.Bool("landmine", false, "also serve the landmines B and N, which charge twice")
	defaults := f.Bool("defaults", false, "answer for clients that cannot be asked, with the defaults of the questions")
	remember := f.String("store", "", "remember rounds, so that one that is sent again runs nothing, in this `store`: memory, which ends with the process and goes with a key of its own")
	var proof fixture
	proof.define(f)
	if _, err := c.parse(f, args, t); err != nil {
		return err
	}
	for _, wrong := range []struct {
		is      bool
		message string
	}{
		{*stdio && *address != "", "serve takes -stdio or -http, not both"},
		{*remember != "" && *remember != "memory", "serve takes -store memory; other stores are modules of their own"},
		{*remember != "" && os.Getenv(keysVariable) != "", "serve takes -store memory without " + keysVariable + ": the store ends with the process, and the keys would not"},
		{*stock && *address == "", "serve takes -stock-front with -http only"},
		{proof.callers != nil && *address == "", "serve takes -token with -http only"},
		{proof.ttl < 0, "serve takes no negative -ttl"},
	} {
		if wrong.is {
			return usageError{wrong.message}
		}
	}
	log := &serveLog{out: t.err}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	opts := &mrtr.Options{Listener: observe.With(log), State: proof.state()}
	if *defaults {
		opts.Unaskable = mrtr.UnaskableDefaults
	}
	if *remember != "" {
		opts.Durable = durable.In(store.NewMemory(nil), nil)
	}
	rt, err := newRuntime(opts, log, *address != "")
	if err != nil {
		return err
	}
	defer func() {
		if err := rt.Close(); err != nil {
			logger.Error("closing", "error", err)
		}
	}()
	card := &options.Card{Out: func(string) { log.printf("card charged, %d in all", proof.charged.Add(1)) }}
	server := newServer(rt, card, *withLandmine)
	if err := boundary.Install(server, &boundary.Options{Logger: logger}); err != nil {
		return err
	}
	server.AddReceivingMiddleware(log.middleware)
	if *address == "" {
		return serveStdio(ctx, server, logger, t)
	}
	return serveHTTP(ctx, server, *address, *stock, logger, &proof, t)
}

// newRuntime takes its keys from the environment, or makes one up.
func newRuntime(opts *mrtr.Options, log *serveLog, overHTTP bool) (*mrtr.Runtime, error) {
	if os.Getenv(keysVariable) != "" {
		keys, err := statecodec.KeysFromEnv(keysVariable)
		if err != nil {
			return nil, err
		}
		opts.State.Keys = keys
	} else if overHTTP {
		log.printf("warning: %s is not set, so this process made up its own key:", keysVariable)
		log.printf("warning: its calls cannot go on at another instance, or after a restart")
	}
	return mrtr.New(opts)
}

// serveHTTP serves the tools, their charges and the page.
func serveHTTP(ctx context.Context, server *mcp.Server, address string, stockFront bool, logger *slog.Logger, proof *fixture, t terminal) error {
	ws, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		return err
	}
	played, err := page.New(logger)
	if err != nil {
		return err
	}
	defer played.Close()
	others := http.NewServeMux()
	others.Handle("GET /charges", page.SameOrigin(proof.charges))
	others.Handle("/", played)
	err = serve.HTTP(ctx, address, server, &serve.Options{
		Handler:   &mcphttp.HandlerOptions{StockFront: stockFront},
		Bare:      true, // it has a boundary already, inside of what is logged
		Guard:     proof.guard,
		Endpoints: map[string]serve.Endpoint{"/ws": ws},
		Others:    others,
		Logger:    logger,
		Stop:      time.Second,
		Listening: func(address net.Addr) {
			fmt.Fprintf(t.out, "listening on http://%s\n", address)
			fmt.Fprintf(t.out, "  http://%s/mcp  for modern and legacy clients\n", address)
			fmt.Fprintf(t.out, "  ws://%s/ws     the same over WebSocket, subprotocol %q\n", address, wstransport.Subprotocol)
			fmt.Fprintf(t.out, "  http://%s/charges  how often the tools had their effect\n", address)
			fmt.Fprintf(t.out, "  http://%s/     a page to play with, in a browser on this machine\n", address)
		},
	})
	if errors.Is(err, context.DeadlineExceeded) { // calls of legacy clients still waited for their users
		return nil
	}
	return err
}

// serveStdio serves until the input ends. A signal ends the input too, since
// otherwise the server would wait for running calls, which wait for their users.
func serveStdio(ctx context.Context, server *mcp.Server, logger *slog.Logger, t terminal) error {
	in, input := io.Pipe()
	go func() {
		_, err := io.Copy(input, t.in)
		input.CloseWithError(err)
	}()
	defer context.AfterFunc(ctx, func() { input.Close() })()
	transport, err := stdio.New(&stdio.Options{Reader: in, Writer: unclosed{t.out}, Logger: logger})
	if err != nil {
		return err
	}
	err = server.Run(context.WithoutCancel(ctx), transport)
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// unclosed is a writer that its owner closes.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

const pageAbout = `Serves a page on which a person plays a multi-round call in every style, opens
the sealed state, kills the server while it waits, and attacks the call in other
ways. The browser is the MCP client, over WebSocket. The page is served to this
machine alone.`

// servePage serves the page, and nothing else, until a signal.
func servePage(ctx context.Context, c command, args []string, t terminal) error {
	f := c.flags()
	address := f.String("http", "127.0.0.1:0", "serve on this `address`; port 0 takes a free one")
	if _, err := c.parse(f, args, t); err != nil {
		return err
	}
	played, err := page.New(slog.New(slog.NewTextHandler(t.err, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer played.Close()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "listening on http://%s/\n", listener.Addr())
	web := &http.Server{Handler: played, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if err := web.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// fixture prepares a server for a proof from outside: states that expire while one
// waits, two callers, and a count of the effects.
type fixture struct {
	ttl     time.Duration
	callers map[string]string // by token
	charged atomic.Int64
}

func (x *fixture) define(f *flag.FlagSet) {
	f.DurationVar(&x.ttl, "ttl", 0, "how long a state is good, such as 2s (default 1h)")
	f.Func("token", "with -http: a user and the bearer token of it, `who=token`; may be repeated. Requests without one of them are refused", x.addCaller)
}

func (x *fixture) addCaller(text string) error {
	user, token, ok := strings.Cut(text, "=")
	if !ok || user == "" || token == "" {
		return errors.New("want WHO=TOKEN")
	}
	if x.callers == nil {
		x.callers = map[string]string{}
	}
	x.callers[token] = user
	return nil
}

// state is how the states of the engine are sealed. The clocks of servers whose
// states are good for seconds may not differ by half a minute.
func (x *fixture) state() *statecodec.Options {
	o := &statecodec.Options{TTL: x.ttl}
	if x.ttl > 0 {
		o.Skew = min(statecodec.DefaultSkew, max(time.Millisecond, x.ttl/10))
	}
	return o
}

// guard lets in the callers with a token, if there are any.
func (x *fixture) guard(h http.Handler) http.Handler {
	if x.callers == nil {
		return h
	}
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		user, known := x.callers[token]
		if !known {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: user, Expiration: time.Now().Add(time.Hour)}, nil
	}
	return auth.RequireBearerToken(verify, nil)(h)
}

// charges answers with the number of charges so far.
func (x *fixture) charges(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]int64{"charge": x.charged.Load()}) // the client may be gone
}

// serveLog logs one line for each round. It never logs an answer or a state.
type serveLog struct {
	mu  sync.Mutex
	out io.Writer
}

// Write lets another logger share the output, line by line.
func (l *serveLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *serveLog) printf(format string, args ...any) {
	fmt.Fprintf(l, "%s  %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

func (l *serveLog) round(call string, round int, tool, outcome string, took time.Duration) {
	l.printf("call %-8.8s  round %-2d  %-22s  %8.2fms  %s", call, round, printable(tool), float64(took.Microseconds())/1000, outcome)
}

// Observe logs the rounds that reach the engine.
func (l *serveLog) Observe(ctx context.Context, e observe.Event) {
	outcome := ""
	switch e.Kind {
	case observe.QuestionsAsked:
		outcome = strings.TrimSpace("asked " + strings.Join(e.Questions, ", "))
	case observe.CallCompleted:
		outcome = "completed"
	case observe.CallStopped:
		outcome = "stopped: " + weather.ErrorType(e.Err)
	case observe.RoundRepeated:
		outcome = "answered again, nothing was run"
	case observe.StateRefused, observe.CallAbandoned, observe.RoundRefused, observe.RoundUnknown:
		outcome = string(e.Kind) + ": " + e.Reason
	default:
		return
	}
	if seen, ok := ctx.Value(seenKey{}).(*atomic.Bool); ok {
		seen.Store(true)
	}
	l.round(cmp.Or(e.Call, "-"), e.Round, e.Name, outcome, e.Duration)
}

// seenKey is the context key of a flag: Observe has logged this request.
type seenKey struct{}

// middleware logs the calls that do not reach the engine: those of tools that ask
// nothing, and those that were refused before.
func (l *serveLog) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		seen := new(atomic.Bool)
		start := time.Now()
		res, err := next(context.WithValue(ctx, seenKey{}, seen), method, req)
		if !seen.Load() {
			l.round("-", 1, call.Params.Name, outcomeOf(res, err), time.Since(start))
		}
		return res, err
	}
}

func outcomeOf(res mcp.Result, err error) string {
	result, ok := res.(*mcp.CallToolResult)
	switch {
	case err != nil || !ok:
		return "refused"
	case result.IsError:
		face, _ := boundary.ReportOf(result)
		return "stopped: " + face.Type
	}
	return "completed"
}

// printable makes one short line of a name that a client may have made up.
func printable(name string) string {
	return shorten(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, name), 40)
}

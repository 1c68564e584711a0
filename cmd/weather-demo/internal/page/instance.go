package page

import (
	"bufio"
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// settings are the choices that a socket makes in its URL. Each combination has a
// runtime of its own, so that nothing changes under a call.
type settings struct {
	store bool // rounds are remembered
	short bool // states live for shortLife
	other bool // the key is another
	next  bool // the tools are of another version
}

const (
	// shortLife is a state's life on the sockets with life=short.
	shortLife = 2 * time.Second
	// owner is who speaks on a socket that names nobody.
	owner = "visitor"
	// lease is how long an instance may be silent before another one takes its rounds over.
	lease = 3 * time.Second
	// pollInterval is what clients are told of tasks.
	pollInterval = 300 * time.Millisecond
)

// instance is one of a bench's servers. It can be killed and started again.
type instance struct {
	name  string
	bench *bench
	keys  []statecodec.Key

	mu     sync.Mutex
	killed bool
	stands map[settings]*stand
}

// stand is a runtime with its server, and the sockets to it.
type stand struct {
	rt     *mrtr.Runtime
	tasks  *tasks.Manager
	server *mcp.Server
	ws     *wstransport.Handler
	life   context.Context // until it is killed
	die    context.CancelFunc
}

// stand returns the runtime for these settings, nil on a killed instance.
func (i *instance) stand(s settings) (*stand, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.killed {
		return nil, nil
	}
	if found := i.stands[s]; found != nil {
		return found, nil
	}
	made, err := i.newStand(s)
	if err == nil {
		i.stands[s] = made
	}
	return made, err
}

func (i *instance) newStand(s settings) (_ *stand, err error) {
	st := &stand{}
	st.life, st.die = context.WithCancel(context.Background())
	life := &statecodec.Options{Keys: i.keys}
	if s.other {
		life.Keys = []statecodec.Key{statecodec.GenerateKey()}
	}
	if s.short {
		life.TTL, life.Skew = shortLife, time.Millisecond
	}
	watch := &watcher{instance: i.name, to: i.bench.events, life: st.life}
	o := &mrtr.Options{State: life, Listener: observe.With(watch), Principal: principal}
	if s.store {
		o.Durable = durable.In(mortal{i.bench.rounds, i.bench.rounds, st.life}, &durable.Options{Lease: lease})
	}
	if st.rt, err = mrtr.New(o); err != nil {
		return nil, err
	}
	card := &options.Card{Out: func(line string) { watch.did("charge", line) }}
	st.server = mcp.NewServer(weather.Implementation, nil)
	for _, o := range everyStyle() {
		made := o.New
		if s.next { // in steps, or in guards where it was in steps
			if made = options.Steps; strings.HasPrefix(o.Name, "steps") {
				made = options.Native
			}
		}
		mrtr.AddTool(st.server, weather.Tool(o), made(st.rt, card))
	}
	st.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if rendezvous.TaskRoundOf(ctx) != nil {
				ctx = context.WithValue(ctx, weather.Work{}, watch.works)
			}
			return next(ctx, method, req)
		}
	})
	if err := boundary.Install(st.server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, err
	}
	if st.tasks, err = tasks.Install(st.server, &tasks.Options{Runtime: st.rt, PollInterval: pollInterval, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, err
	}
	st.ws, err = wstransport.NewHandler(func(*http.Request) *mcp.Server { return st.server }, nil)
	return st, err
}

// kill cuts the instance's sockets as a crash would, without a close code, and
// closes its runtimes: the handlers they held are gone, and write nothing more.
func (i *instance) kill() {
	i.mu.Lock()
	i.killed = true
	stands := i.stands
	i.stands = map[settings]*stand{}
	i.mu.Unlock()
	for _, st := range stands {
		st.die()
		i.bench.closing.Go(func() {
			_ = st.tasks.Close()
			_ = st.rt.Close()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = st.ws.Shutdown(ctx)
		})
	}
}

func (i *instance) start() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.killed = false
}

// switching answers the requests that kill an instance or start it again.
func switching(turn func(*instance)) func(http.ResponseWriter, *http.Request, *instance) {
	return func(w http.ResponseWriter, _ *http.Request, i *instance) {
		turn(i)
		w.WriteHeader(http.StatusNoContent)
	}
}

// serveSocket speaks MCP with the browser.
func serveSocket(w http.ResponseWriter, r *http.Request, i *instance) {
	s, user, ok := settingsOf(r.URL.Query())
	if !ok {
		http.Error(w, "A socket takes life=short, key=other, version=next, user=NAME, and store=on.", http.StatusBadRequest)
		return
	}
	st, err := i.stand(s)
	switch {
	case err != nil:
		http.Error(w, "The instance could not be started.", http.StatusInternalServerError)
		return
	case st == nil:
		http.Error(w, "This instance was killed.", http.StatusServiceUnavailable)
		return
	}
	i.bench.sockets.Add(1)
	defer i.bench.sockets.Add(-1)
	life, closed := context.WithCancel(st.life)
	defer closed()
	st.ws.ServeHTTP(mortalWriter{w, life}, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
}

func settingsOf(q url.Values) (s settings, user string, ok bool) {
	user = cmp.Or(q.Get("user"), owner)
	ok = len(user) <= 40
	is := func(name, value string) bool {
		ok = ok && (q.Get(name) == "" || q.Get(name) == value)
		return q.Get(name) == value
	}
	return settings{is("store", "on"), is("life", "short"), is("key", "other"), is("version", "next")}, user, ok
}

// userKey holds the name that a socket was opened with.
type userKey struct{}

// principal is who speaks on the socket. On this bench a visitor says so
// without proof; a server takes it from a verified token.
func principal(ctx context.Context, _ mcp.Request) (string, error) {
	user, _ := ctx.Value(userKey{}).(string)
	return user, nil
}

// mortalWriter cuts the connection that a WebSocket takes over when its instance dies. Nothing
// is said to the peer first, as nothing is when a process dies.
type mortalWriter struct {
	http.ResponseWriter
	life context.Context
}

// Hijack implements [http.Hijacker].
func (w mortalWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		context.AfterFunc(w.life, func() { _ = conn.Close() })
	}
	return conn, rw, err
}

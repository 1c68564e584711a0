package prove_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// shared is a store that the instances of a deployment share, as they share a
// database.
type shared struct{ *store.Memory }

func (shared) Scope() store.Scope { return store.Machine }

// cutOff is the store of a process, which writes nothing once that is gone.
type cutOff struct {
	store.Store
	process *process
}

var errCutOff = errors.New("a dead process writes nothing")

func (c cutOff) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if c.process.isGone() {
		return 0, errCutOff
	}
	return c.Store.Create(ctx, key, value, ttl)
}

func (c cutOff) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if c.process.isGone() {
		return 0, errCutOff
	}
	return c.Store.Update(ctx, key, at, value, ttl)
}

type handlerOf func(*mrtr.Runtime, *options.Audit) options.Handler

// deployment is servers that share a key, in memory.
type deployment struct {
	handler handlerOf
	keys    []statecodec.Key
	store   store.Store // nil is none
	main    *process
	over    chan struct{} // closed when the proof is over

	mu      sync.Mutex
	started []*process // as the main one
	effects int
	crash   bool
	dead    error
}

// process is one instance.
type process struct {
	runtime *mrtr.Runtime
	server  *mcp.Server

	mu    sync.Mutex
	conns []mcp.Connection
	gone  bool
}

// hangUp breaks every connection.
func (p *process) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	for _, c := range p.conns {
		_ = c.Close()
	}
}

func (p *process) isGone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// breakable is a transport whose connection its process can break.
type breakable struct {
	mcp.Transport
	process *process
}

func (b breakable) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := b.Transport.Connect(ctx)
	if err == nil {
		b.process.mu.Lock()
		b.process.conns = append(b.process.conns, conn)
		b.process.mu.Unlock()
	}
	return conn, err
}

func (d *deployment) start(keys []statecodec.Key) (*process, error) {
	p := &process{server: mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)}
	var remembers store.Store
	if d.store != nil {
		remembers = cutOff{d.store, p}
	}
	rt, err := mrtr.New(&mrtr.Options{
		State: &statecodec.Options{Keys: keys}, Store: remembers,
		Principal: func(_ context.Context, req mcp.Request) (string, error) {
			return callerOf(req.GetSession().(*mcp.ServerSession)), nil
		},
	})
	if err != nil {
		return nil, err
	}
	p.runtime = rt
	handler := d.handler(rt, &options.Audit{Out: func(string) { d.effect(p) }})
	for _, name := range []string{weather.Tool, weather.OtherTool} {
		mcp.AddTool(p.server, &mcp.Tool{Name: name}, handler)
	}
	return p, nil
}

// callers names the callers of sessions, which have no credentials in memory.
var callers sync.Map

func callerOf(s *mcp.ServerSession) string {
	name, _ := callers.Load(s)
	text, _ := name.(string)
	return text
}

func (d *deployment) effect(p *process) {
	d.mu.Lock()
	d.effects++
	crash := d.crash
	if crash {
		d.crash, d.dead = false, errors.New("the process is gone")
	}
	d.mu.Unlock()
	if crash {
		p.hangUp()
		<-d.over
		runtime.Goexit() // nothing after the effect happens, not even a tidy end
	}
}

func (p *process) dial(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
	here, there := mcp.NewInMemoryTransports()
	session, err := p.server.Connect(ctx, breakable{here, p}, nil)
	if err != nil {
		return nil, err
	}
	callers.Store(session, who.Name)
	return &prove.Endpoint{Transport: there, Close: func() error {
		if p.isGone() {
			return nil // a dead process closes nothing
		}
		return session.Close()
	}}, nil
}

// elsewhere dials an instance of its own each time.
func (d *deployment) elsewhere(keys []statecodec.Key) prove.Dial {
	return func(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
		p, err := d.start(keys)
		if err != nil {
			return nil, err
		}
		e, err := p.dial(ctx, who)
		if err != nil {
			return nil, err
		}
		closing := e.Close
		e.Close = func() error { return errors.Join(closing(), p.runtime.Close()) }
		return e, nil
	}
}

func (d *deployment) subject() prove.Subject {
	return prove.Subject{
		Dial: func(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
			if err := d.died(); err != nil {
				return nil, err
			}
			return d.main.dial(ctx, who)
		},
		Fresh: d.elsewhere(d.keys), Stranger: d.elsewhere([]statecodec.Key{statecodec.GenerateKey()}),
		Expire: func(context.Context) error { time.Sleep(25 * time.Hour); return nil },
		Effects: func(context.Context) (map[string]int, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return map[string]int{"audit": d.effects}, nil
		},
		First: &prove.Caller{Name: "ann"}, Other: &prove.Caller{Name: "bob"},
		Died: d.died,
		Revive: func(context.Context) (err error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.dead = nil
			if d.main, err = d.start(d.keys); err == nil {
				d.started = append(d.started, d.main)
			}
			return err
		},
		CrashAtEffect: func(on bool) { d.mu.Lock(); defer d.mu.Unlock(); d.crash = on },
	}
}

func (d *deployment) died() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

func provedInMemory(t *testing.T, handler handlerOf, s prove.Scenario, remembers store.Store) (report *prove.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &deployment{handler: handler, keys: []statecodec.Key{statecodec.GenerateKey()}, store: remembers, over: make(chan struct{})}
		var err error
		d.main, err = d.start(d.keys)
		require.NoError(t, err)
		d.started = append(d.started, d.main)
		defer func() {
			close(d.over)
			for _, p := range d.started {
				_ = p.runtime.Close()
			}
		}()
		report, err = prove.Run(t.Context(), d.subject(), s, &prove.Options{Patience: 5 * time.Second})
		require.NoError(t, err)
	})
	return report
}

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
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/statecodec"
)

// weather is the scenario by which every style of the weather tool is proved.
var weather = prove.Scenario{
	Tool: "weather", OtherTool: "weather_again",
	Arguments: map[string]any{"location": "Springfield"}, OtherArguments: map[string]any{"location": "Tokyo"},
	Answers:      map[string]any{"place": "Springfield, Illinois", "units": "imperial"},
	OtherAnswers: map[string]any{"place": "Springfield, Missouri", "units": "metric"},
}

type handlerOf func(*mrtr.Runtime, *options.Audit) options.Handler

func TestOurStylesKeepEveryMustAndShould(t *testing.T) {
	require.Len(t, options.All, 8)
	for _, o := range options.All {
		t.Run(o.Name, func(t *testing.T) {
			report := provedInMemory(t, o.New)
			t.Log("\n" + report.String())
			require.Empty(t, report.Failures(prove.Should), report.String())
		})
	}
}

func TestTheLandminesAreCondemned(t *testing.T) {
	require.NotEmpty(t, landmine.All)
	for _, o := range landmine.All {
		t.Run(o.Name, func(t *testing.T) {
			report := provedInMemory(t, o.New)
			f, ok := report.Of("effect/once")
			require.True(t, ok)
			require.Equal(t, prove.Fail, f.Outcome, report.String())
		})
	}
}

// deployment is servers that share a key, in memory.
type deployment struct {
	handler handlerOf
	keys    []statecodec.Key
	main    *process

	mu      sync.Mutex
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
}

// hangUp breaks every connection.
func (p *process) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
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
	rt, err := mrtr.New(&mrtr.Options{
		State: &statecodec.Options{Keys: keys},
		Principal: func(_ context.Context, req mcp.Request) (string, error) {
			return callerOf(req.GetSession().(*mcp.ServerSession)), nil
		},
	})
	if err != nil {
		return nil, err
	}
	p := &process{runtime: rt, server: mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)}
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
		runtime.Goexit() // nothing after the effect happens
	}
}

func (p *process) dial(ctx context.Context, who *prove.Caller) (*prove.Endpoint, error) {
	here, there := mcp.NewInMemoryTransports()
	session, err := p.server.Connect(ctx, breakable{here, p}, nil)
	if err != nil {
		return nil, err
	}
	callers.Store(session, who.Name)
	return &prove.Endpoint{Transport: there, Close: func() error { return session.Close() }}, nil
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
			_ = d.main.runtime.Close()
			d.dead = nil
			d.main, err = d.start(d.keys)
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

func provedInMemory(t *testing.T, handler handlerOf) (report *prove.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &deployment{handler: handler, keys: []statecodec.Key{statecodec.GenerateKey()}}
		var err error
		d.main, err = d.start(d.keys)
		require.NoError(t, err)
		defer func() { _ = d.main.runtime.Close() }()
		report, err = prove.Run(t.Context(), d.subject(), weather, &prove.Options{Patience: 5 * time.Second})
		require.NoError(t, err)
	})
	return report
}

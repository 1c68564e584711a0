//go:build unix

package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/pgstore"
	"github.com/mrtr-go/sdk/store/storetest"
)

// pair is a primary and its standby. The instances reach either by a way of their own.
type pair struct {
	t                *testing.T
	primary, standby string
	follows          *storetest.Proxy    // from the standby to the primary
	ways             [2]*storetest.Proxy // of the instances
}

func newPair(t *testing.T, synchronous bool) *pair {
	p := &pair{t: t, primary: storetest.PostgreSQL.Start(t)}
	p.follows = storetest.NewProxy(t, p.primary)
	p.standby = storetest.Standby(p.follows.Addr()).Start(t)
	for i := range p.ways {
		p.ways[i] = storetest.NewProxy(t, p.primary)
	}
	if synchronous {
		admin := p.connect(p.primary)
		p.exec(admin, "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
		p.exec(admin, "SELECT pg_reload_conf()")
		require.Eventually(t, func() bool {
			var state string
			err := admin.QueryRow(t.Context(), "SELECT sync_state FROM pg_stat_replication").Scan(&state)
			return err == nil && state == "sync"
		}, time.Minute, 50*time.Millisecond)
	}
	return p
}

func (p *pair) exec(pool *pgxpool.Pool, statement string) {
	_, err := pool.Exec(p.t.Context(), statement)
	require.NoError(p.t, err)
}

func (p *pair) connect(addr string) *pgxpool.Pool {
	config, err := pgxpool.ParseConfig(postgresAddress(addr) + " pool_max_conns=8")
	require.NoError(p.t, err)
	pgstore.Watch(config.ConnConfig)
	pool, err := pgxpool.NewWithConfig(p.t.Context(), config)
	require.NoError(p.t, err)
	p.t.Cleanup(pool.Close)
	return pool
}

func (p *pair) open(instance int) store.Store {
	s, err := pgstore.Open(p.t.Context(), p.connect(p.ways[instance%2].Addr()), nil)
	require.NoError(p.t, err)
	return s
}

// promote makes the standby one that takes writes.
func (p *pair) promote() {
	p.exec(p.connect(p.standby), "SELECT pg_promote()")
}

// turn leads instances to the standby.
func (p *pair) turn(ways ...*storetest.Proxy) {
	for _, way := range ways {
		way.Turn(p.standby)
	}
}

var postgresEvents = []Event{
	{Name: "the synchronous standby is promoted", Set: func(t *testing.T) Scene {
		p := newPair(t, true)
		return Scene{Open: p.open, At: func() {
			p.follows.Cut()
			p.promote()
			p.turn(p.ways[:]...)
		}}
	}},
	{Name: "an asynchronous standby that lags is promoted", Daily: true, Set: func(t *testing.T) Scene {
		p := newPair(t, false)
		return Scene{Open: p.open, Before: func() { p.follows.HoldAnswers() }, At: func() {
			p.follows.Cut()
			p.promote()
			p.turn(p.ways[:]...)
		}}
	}},
	{Name: "split brain, asynchronous", Splits: true, Set: func(t *testing.T) Scene {
		p := newPair(t, false)
		return Scene{Open: p.open, Before: func() { p.follows.HoldAnswers() }, At: func() {
			p.follows.Cut()
			p.promote()
			p.turn(p.ways[1])
			time.Sleep(2 * time.Second) // in which both take writes
			p.turn(p.ways[0])
		}}
	}},
	{Name: "split brain, synchronous", Set: func(t *testing.T) Scene {
		p := newPair(t, true)
		return Scene{Open: p.open, At: func() {
			p.follows.Cut()
			p.promote()
			p.turn(p.ways[1])
			time.Sleep(2 * time.Second)
			p.turn(p.ways[0])
		}}
	}},
	{Name: "waits for a standby are cancelled, and it is promoted", Set: func(t *testing.T) Scene {
		p := newPair(t, true)
		admin := p.connect(p.primary)
		return Scene{Open: p.open, At: func() {
			p.follows.HoldAnswers()
			for range 40 {
				p.exec(admin, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
				time.Sleep(50 * time.Millisecond)
			}
			p.follows.Cut()
			p.promote()
			p.turn(p.ways[:]...)
		}}
	}},
	{Name: "restored from a dump", Set: func(t *testing.T) Scene {
		p := &pair{t: t, primary: storetest.PostgreSQL.Start(t)}
		p.ways = [2]*storetest.Proxy{storetest.NewProxy(t, p.primary), storetest.NewProxy(t, p.primary)}
		admin := p.connect(p.primary)
		return Scene{Open: p.open, Before: func() { p.exec(admin, "CREATE TABLE copy AS TABLE mrtr_rounds") },
			At: func() {
				p.exec(admin, "BEGIN; TRUNCATE mrtr_rounds; INSERT INTO mrtr_rounds TABLE copy; COMMIT")
			}}
	}},
	{Name: "its clock is moved by two hours, ahead and back", Keeps: true, Set: func(t *testing.T) Scene {
		server, move := movable(t, storetest.PostgreSQL)
		p := &pair{t: t, primary: server}
		p.ways = [2]*storetest.Proxy{storetest.NewProxy(t, server), storetest.NewProxy(t, server)}
		sweeps := p.open(0).(store.Sweeper)
		return Scene{Open: p.open, At: func() {
			move(func() {
				_, err := sweeps.Sweep(t.Context())
				require.NoError(t, err)
			})
		}}
	}},
}

func TestPostgreSQLEvents(t *testing.T) {
	RunEvents(t, "PostgreSQL", append(postgresEvents, clockEvent(postgres)))
}

// movable starts a server whose clock can be moved, which move does for some seconds each: by
// two minutes and by two hours, ahead and back. Each time it calls a function, such as a sweep.
func movable(t *testing.T, of *storetest.Server) (addr string, move func(each func())) {
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	require.NoError(t, err)
	require.NotEmpty(t, libraries, "install faketime, as store/install does")
	clock := filepath.Join(t.TempDir(), "clock")
	set := func(offset string) { require.NoError(t, os.WriteFile(clock, []byte(offset), 0o644)) }
	set("+0")
	require.NoError(t, os.Chmod(filepath.Dir(clock), 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(clock)), 0o755))
	server := &storetest.Server{Programs: of.Programs, Ready: of.Ready, Command: func(t testing.TB, program, dir, host, port string) *exec.Cmd {
		cmd := of.Command(t, program, dir, host, port)
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+libraries[0], "FAKETIME_TIMESTAMP_FILE="+clock, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
		return cmd
	}}
	return server.Start(t), func(each func()) {
		for _, offset := range []string{"+120", "-120", "+7200", "-7200", "+0"} {
			set(offset)
			time.Sleep(2 * time.Second)
			each()
		}
	}
}

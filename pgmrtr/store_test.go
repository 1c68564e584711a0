package pgmrtr_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/roundcost"
	"github.com/mrtr-go/sdk/internal/testserver"
	"github.com/mrtr-go/sdk/pgmrtr"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

func TestStore(t *testing.T) {
	addr := runServer(t)
	judge(t, addr, "")
}

// The suite again in a database whose transactions are serializable: there the
// losers of a race are rolled back instead of told.
func TestStoreWhereTransactionsAreSerializable(t *testing.T) {
	addr := runServer(t)
	judge(t, addr, " default_transaction_isolation=serializable")
}

func judge(t *testing.T, addr, settings string) {
	admin := connect(t, addr, "")
	storetest.Run(t, func(t *testing.T) *storetest.Subject {
		const limit = 100_000
		opts := &pgmrtr.Options{Table: tableName(t), MaxValue: limit}
		proxy := storetest.NewProxy(t, addr)
		s := open(t, connect(t, proxy.Addr(), settings), opts)
		return &storetest.Subject{
			Store:    s,
			MaxValue: limit,
			Another:  func() store.Store { return open(t, connect(t, addr, settings), opts) },
			Wipe: func() store.Store {
				_, err := admin.Exec(t.Context(), "DROP TABLE "+opts.Table)
				require.NoError(t, err)
				return s
			},
			HoldRequests: proxy.HoldRequests,
			HoldAnswers:  proxy.HoldAnswers,
			Cut:          proxy.Cut,
		}
	}, nil)
}

// Somebody may empty the table and leave it, all of it or in part.
func TestRowsThatAreDeletedAreForgotten(t *testing.T) {
	pool := connect(t, runServer(t), "")
	for i, statement := range []string{
		"TRUNCATE %s", "TRUNCATE %s RESTART IDENTITY", "DELETE FROM %s", "DELETE FROM %s WHERE name = ''", "DROP TABLE %s",
	} {
		opts := &pgmrtr.Options{Table: fmt.Sprintf("apart.rounds_%d", i)}
		s := open(t, pool, opts)
		key := keyOf(t, s, "record")
		at, err := s.Create(t.Context(), key, nil, time.Minute)
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), fmt.Sprintf(statement, opts.Table))
		require.NoError(t, err)

		_, err = s.Create(t.Context(), key, nil, time.Minute)
		require.ErrorIs(t, err, store.ErrForgotten, statement)
		_, err = s.Update(t.Context(), key, at, nil, time.Minute)
		require.ErrorIs(t, err, store.ErrForgotten, statement)
		_, _, err = s.Get(t.Context(), key)
		require.True(t, store.IsVerdict(err), err)
		if i < 4 {
			left, last := 0, store.Revision(0)
			query := fmt.Sprintf("SELECT count(*), coalesce(max(revision), 0) FROM %s", opts.Table)
			require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&left, &last))
			if i == 3 {
				require.Equal(t, 1, left, statement)
				require.Equal(t, at, last, "what was refused was not written")
			} else {
				require.Zero(t, left, "what was refused was not written")
			}
		}
		now := keyOf(t, s, "record")
		require.NotEqual(t, key.Epoch, now.Epoch)
		_, err = s.Create(t.Context(), now, nil, time.Minute)
		require.NoError(t, err, statement)
		_, err = s.Create(t.Context(), key, nil, time.Minute)
		require.ErrorIs(t, err, store.ErrForgotten, statement)
	}
}

// An emptied table gets one epoch, however many notice at once.
func TestOneBeginsTheEpoch(t *testing.T) {
	pool := connect(t, runServer(t), "")
	s := open(t, pool, &pgmrtr.Options{Table: tableName(t)})
	for range 5 {
		_, err := pool.Exec(t.Context(), "TRUNCATE "+tableName(t))
		require.NoError(t, err)
		const askers = 8
		type answer struct {
			epoch string
			err   error
		}
		answers := make(chan answer, askers)
		for range askers {
			go func() {
				epoch, err := s.Epoch(t.Context())
				answers <- answer{epoch, err}
			}()
		}
		epochs := map[string]bool{}
		for range askers {
			a := <-answers
			require.NoError(t, a.err)
			epochs[a.epoch] = true
		}
		require.Len(t, epochs, 1)
	}
}

// A lock timeout says nothing about the record.
func TestLockTimeoutIsUnsettled(t *testing.T) {
	addr := runServer(t)
	pool := connect(t, addr, "")
	s := open(t, connect(t, addr, " lock_timeout=50"), &pgmrtr.Options{Table: tableName(t)})
	key := keyOf(t, s, "record")
	at, err := s.Create(t.Context(), key, []byte("one"), time.Minute)
	require.NoError(t, err)

	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM "+tableName(t)+" FOR UPDATE")
	require.NoError(t, err)
	_, err = s.Update(t.Context(), key, at, []byte("two"), time.Minute)
	require.ErrorContains(t, err, "lock timeout")
	require.False(t, store.IsVerdict(err), err)
	require.NoError(t, tx.Rollback(t.Context()))
	_, err = s.Update(t.Context(), key, at, []byte("two"), time.Minute)
	require.NoError(t, err)
}

func TestExpiredRowsAreSwept(t *testing.T) {
	pool := connect(t, runServer(t), "")
	s := open(t, pool, &pgmrtr.Options{Table: tableName(t)})
	for i := range 50 {
		_, err := s.Create(t.Context(), keyOf(t, s, fmt.Sprintf("old.%d", i)), nil, store.MinTTL)
		require.NoError(t, err)
	}
	_, err := pool.Exec(t.Context(), "UPDATE "+tableName(t)+" SET expires = now() WHERE name LIKE 'old.%'")
	require.NoError(t, err)
	for i := range 50 {
		_, err := s.Create(t.Context(), keyOf(t, s, fmt.Sprintf("new.%d", i)), nil, time.Minute)
		require.NoError(t, err)
	}
	var names int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+tableName(t)).Scan(&names))
	require.Equal(t, 51, names, "the new ones and the epoch")
}

func TestOptionsAreChecked(t *testing.T) {
	addr := runServer(t)
	pool := connect(t, addr, "")
	var usage *store.UsageError
	for _, opts := range []*pgmrtr.Options{
		{MaxValue: -1}, {Table: "a b"}, {Table: "a;b"}, {Table: "a.b.c"}, {Table: "A"}, {Table: strings.Repeat("a", 60)},
	} {
		_, err := pgmrtr.Open(t.Context(), pool, opts)
		require.ErrorAs(t, err, &usage, opts)
	}
	_, err := pgmrtr.Open(t.Context(), nil, nil)
	require.ErrorAs(t, err, &usage)

	forgetful := connect(t, addr, " synchronous_commit=off")
	_, err = pgmrtr.Open(t.Context(), forgetful, nil)
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "synchronous_commit is off")
	open(t, forgetful, &pgmrtr.Options{AcceptLoss: true})
}

// BenchmarkStore compares it with the two statements that a program of one's
// own would run.
func BenchmarkStore(b *testing.B) {
	pool := connect(b, runServer(b), "")
	_, err := pool.Exec(b.Context(), "CREATE TABLE bare (name text PRIMARY KEY, value bytea)")
	require.NoError(b, err)
	storetest.Ratio(b, open(b, pool, nil), func(ctx context.Context, name string, first, second []byte) error {
		if _, err := pool.Exec(ctx, "INSERT INTO bare VALUES ($1, $2)", name, first); err != nil {
			return err
		}
		_, err := pool.Exec(ctx, "UPDATE bare SET value = $2 WHERE name = $1", name, second)
		return err
	})
}

// BenchmarkRound is the cost of a remembered round, in bare writes.
func BenchmarkRound(b *testing.B) {
	pool := connect(b, runServer(b), "")
	roundcost.Measure(b, func() store.Store { return open(b, pool, nil) })
}

func keyOf(t testing.TB, s store.Store, name string) store.Key {
	t.Helper()
	epoch, err := s.Epoch(t.Context())
	require.NoError(t, err)
	return store.Key{Epoch: epoch, Name: name}
}

func open(t testing.TB, pool *pgxpool.Pool, opts *pgmrtr.Options) *pgmrtr.Store {
	t.Helper()
	s, err := pgmrtr.Open(t.Context(), pool, opts)
	require.NoError(t, err)
	return s
}

func connect(t testing.TB, addr, settings string) *pgxpool.Pool {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	pool, err := pgxpool.New(t.Context(), fmt.Sprintf("host=%s port=%s user=mrtr dbname=postgres sslmode=disable pool_max_conns=8%s", host, port, settings))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// tableName makes one that is allowed of the test's name.
func tableName(t testing.TB) string {
	digest := sha256.Sum256([]byte(t.Name()))
	return fmt.Sprintf("rounds_%x", digest[:8])
}

var shared testserver.Shared

// runServer returns the address of the server that the tests share.
func runServer(t testing.TB) (addr string) {
	t.Helper()
	return shared.Addr(t, startServer)
}

// startServer starts a PostgreSQL of its own, which never runs as root.
func startServer(t testing.TB) (addr string) {
	t.Helper()
	postgres := testserver.Find(t, "/usr/lib/postgresql/*/bin/postgres", "postgres")
	dir, err := testserver.Dir(t, "pgmrtr")
	require.NoError(t, err)
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 {
		who, err := user.Lookup("postgres")
		require.NoError(t, err)
		uid, err := strconv.Atoi(who.Uid)
		require.NoError(t, err)
		gid, err := strconv.Atoi(who.Gid)
		require.NoError(t, err)
		require.NoError(t, os.Chown(dir, uid, gid))
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(filepath.Dir(postgres), "initdb"), "-D", data, "-U", "mrtr", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
	initdb.Dir, initdb.SysProcAttr = dir, as
	said, err := initdb.CombinedOutput()
	require.NoError(t, err, string(said))

	host, port := testserver.FreeAddr(t)
	server := exec.Command(postgres, "-D", data, "-h", host, "-p", port, "-k", dir, "-c", "max_connections=500")
	server.Dir, server.SysProcAttr = dir, as
	addr = net.JoinHostPort(host, port)
	testserver.Start(t, server, func() error {
		conn, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=%s user=mrtr dbname=postgres sslmode=disable", host, port))
		if err == nil {
			err = conn.Close(t.Context())
		}
		return err
	})
	return addr
}

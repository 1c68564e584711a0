//go:build unix

package pgstore_test

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/pgstore"
	"github.com/mrtr-go/sdk/store/storetest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	storetest.StopShared()
	os.Exit(code)
}

func TestStore(t *testing.T) { storetest.Run(t, newSubject, nil) }

// The suite again in a database whose transactions are serializable: there the
// losers of a race are rolled back instead of told.
func TestStoreWhereTransactionsAreSerializable(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *storetest.Subject {
		return newSubjectWith(t, " default_transaction_isolation=serializable")
	}, nil)
}

func newSubject(t *testing.T) *storetest.Subject { return newSubjectWith(t, "") }

func newSubjectWith(t *testing.T, settings string) *storetest.Subject {
	const limit = 100_000
	opts := &pgstore.Options{Table: tableName(t), MaxValue: limit}
	addr := storetest.PostgreSQL.Shared(t)
	proxy, direct := storetest.NewProxy(t, addr), connect(t, addr, settings)
	s := open(t, connect(t, proxy.Addr(), settings), opts)
	return &storetest.Subject{
		Store:    s,
		MaxValue: limit,
		Another:  func() store.Store { return open(t, direct, opts) },
		Wipe: func() store.Store {
			_, err := direct.Exec(t.Context(), "DROP TABLE "+opts.Table)
			require.NoError(t, err)
			return s
		},
		Rewind: func() func() store.Store {
			query := func(sql string) {
				_, err := direct.Exec(t.Context(), strings.ReplaceAll(sql, "rounds", opts.Table))
				require.NoError(t, err)
			}
			query("CREATE TABLE rounds_copy AS TABLE rounds")
			return func() store.Store { // as a dump of the table is restored
				query("TRUNCATE rounds; INSERT INTO rounds TABLE rounds_copy")
				return s
			}
		},
		Ahead: func(by time.Duration) store.Store {
			wrong := open(t, direct, opts)
			wrong.MoveClock(by)
			return wrong
		},
		HoldRequests: proxy.HoldRequests,
		HoldAnswers:  proxy.HoldAnswers,
		Cut:          proxy.Cut,
	}
}

// Somebody may empty the table and leave it, all of it or in part. What is refused then is
// not written either.
func TestRowsThatAreDeletedAreForgotten(t *testing.T) {
	pool := connect(t, storetest.PostgreSQL.Shared(t), "")
	for i, statement := range []string{
		"TRUNCATE %s", "TRUNCATE %s RESTART IDENTITY", "DELETE FROM %s", "DELETE FROM %s WHERE name = ''", "DROP TABLE %s",
	} {
		table := fmt.Sprintf("apart.rounds_%d", i)
		storetest.Lose(t, open(t, pool, &pgstore.Options{Table: table}), func() {
			_, err := pool.Exec(t.Context(), fmt.Sprintf(statement, table))
			require.NoError(t, err)
		})
		rows := 0
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows))
		require.Equal(t, map[bool]int{false: 2, true: 3}[i == 3], rows, "the epoch, its record, and the old one where that was left: %s", statement)
	}
}

// An emptied table gets one epoch, however many notice at once.
func TestOneBeginsTheEpoch(t *testing.T) {
	pool := connect(t, storetest.PostgreSQL.Shared(t), "")
	s := open(t, pool, &pgstore.Options{Table: tableName(t)})
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
	addr := storetest.PostgreSQL.Shared(t)
	pool := connect(t, addr, "")
	s := open(t, connect(t, addr, " lock_timeout=50"), &pgstore.Options{Table: tableName(t)})
	key := storetest.KeyOf(t, s, "record")
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
	pool := connect(t, storetest.PostgreSQL.Shared(t), "")
	s := open(t, pool, &pgstore.Options{Table: tableName(t)})
	for i := range 300 { // more than one statement removes
		_, err := s.Create(t.Context(), storetest.KeyOf(t, s, fmt.Sprintf("old.%d", i)), nil, store.MinTTL)
		require.NoError(t, err)
	}
	_, err := pool.Exec(t.Context(), "UPDATE "+tableName(t)+" SET expires = now() WHERE name LIKE 'old.%'")
	require.NoError(t, err)
	_, err = s.Create(t.Context(), storetest.KeyOf(t, s, "new"), nil, time.Minute)
	require.NoError(t, err)
	left, err := s.Sweep(t.Context())
	require.NoError(t, err)
	require.True(t, left)
	var names int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+tableName(t)).Scan(&names))
	require.Equal(t, 2, names, "the new one and the epoch")
}

func TestOptionsAreChecked(t *testing.T) {
	addr := storetest.PostgreSQL.Shared(t)
	pool := connect(t, addr, "")
	var usage *store.UsageError
	for _, opts := range []*pgstore.Options{
		{MaxValue: -1}, {Table: "a b"}, {Table: "a;b"}, {Table: "a.b.c"}, {Table: "A"}, {Table: strings.Repeat("a", 60)},
	} {
		_, err := pgstore.Open(t.Context(), pool, opts)
		require.ErrorAs(t, err, &usage, opts)
	}
	_, err := pgstore.Open(t.Context(), nil, nil)
	require.ErrorAs(t, err, &usage)

	for _, value := range []string{"off", "local"} {
		forgetful := connect(t, addr, " synchronous_commit="+value)
		_, err = pgstore.Open(t.Context(), forgetful, nil)
		require.ErrorAs(t, err, &usage)
		require.ErrorContains(t, err, "synchronous_commit is "+value)
		open(t, forgetful, &pgstore.Options{AcceptLoss: true})
	}
}

func open(t testing.TB, pool *pgxpool.Pool, opts *pgstore.Options) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(t.Context(), pool, opts)
	require.NoError(t, err)
	return s
}

func connect(t testing.TB, addr, settings string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), address(addr)+" pool_max_conns=8"+settings)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// tableName makes one that is allowed of the test's name.
func tableName(t testing.TB) string {
	digest := sha256.Sum256([]byte(t.Name()))
	return fmt.Sprintf("rounds_%x", digest[:8])
}

// address is that of the server's own database.
func address(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	return fmt.Sprintf("host=%s port=%s user=mrtr dbname=postgres sslmode=disable", host, port)
}

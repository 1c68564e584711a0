//go:build unix

package pgstore_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/pgstore"
	"github.com/mrtr-go/sdk/store/storetest"
)

// A commit that is cancelled while it waits for the standby succeeds, with a warning. The
// write is unsettled then, and a pool that would not hear of it is refused, at Open and when
// the server begins to wait later.
func TestACancelledWaitIsUnsettled(t *testing.T) {
	addr := storetest.PostgreSQL.Start(t)
	deaf, admin := connect(t, addr, ""), connect(t, addr, " synchronous_commit=local")
	s := open(t, deaf, nil)
	key := storetest.KeyOf(t, s, "record")
	at, err := s.Create(t.Context(), key, []byte("one"), time.Minute)
	require.NoError(t, err)
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()"} {
		_, err := admin.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		var names string
		err := admin.QueryRow(t.Context(), "SHOW synchronous_standby_names").Scan(&names)
		return err == nil && names == "nobody"
	}, 10*time.Second, 20*time.Millisecond)

	var usage *store.UsageError
	_, err = pgstore.Open(t.Context(), deaf, nil)
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "pgstore.Watch")
	s.LookAgain()
	_, err = s.Update(t.Context(), key, at, []byte("two"), time.Minute)
	require.ErrorContains(t, err, "pgstore.Watch")
	open(t, deaf, &pgstore.Options{AcceptLoss: true})

	config, err := pgxpool.ParseConfig(address(addr))
	require.NoError(t, err)
	heard := make(chan string, 100)
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { heard <- n.Message }
	pgstore.Watch(config.ConnConfig)
	hears, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(hears.Close)
	s = open(t, hears, nil)
	require.Contains(t, <-heard, "pgstore asks", "the function that was there is called too")
	ended := make(chan error, 1)
	go func() {
		_, err := s.Update(t.Context(), key, at, []byte("two"), time.Minute)
		ended <- err
	}()
	require.Eventually(t, func() bool {
		var cancelled bool
		err := admin.QueryRow(t.Context(), "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&cancelled)
		return err == nil && cancelled
	}, 10*time.Second, 20*time.Millisecond)
	err = <-ended
	require.Error(t, err)
	require.False(t, store.IsVerdict(err), err)
	value, _, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, "two", string(value), "it is committed here")
}

// Behind a pooler each statement may run on another connection of the server, which does not
// know the statements that were prepared on the others.
func TestBehindAPoolerInTransactionMode(t *testing.T) {
	pooler := &storetest.Server{
		Programs: []string{"/usr/sbin/pgbouncer", "pgbouncer"},
		Command: func(t testing.TB, program, dir, host, port string) *exec.Cmd {
			to, at, _ := net.SplitHostPort(storetest.PostgreSQL.Shared(t))
			config := filepath.Join(dir, "pgbouncer.ini")
			require.NoError(t, os.Chmod(dir, 0o755))
			require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
postgres = host=%s port=%s user=mrtr
[pgbouncer]
listen_addr = %s
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_reset_query =
ignore_startup_parameters = extra_float_digits
`, to, at, host, port), 0o644))
			if os.Getuid() == 0 {
				return exec.Command(program, "-u", "postgres", config)
			}
			return exec.Command(program, config)
		},
		Ready: func(ctx context.Context, _, addr string) error {
			conn, err := pgconn.Connect(ctx, address(addr))
			if err == nil {
				err = conn.Close(ctx)
			}
			return err
		},
	}
	s := open(t, connect(t, pooler.Start(t), ""), &pgstore.Options{Table: tableName(t)})
	key := storetest.KeyOf(t, s, "any")
	ended := make(chan error, 8)
	for i := range cap(ended) {
		go func() {
			one := key
			one.Name = fmt.Sprint(i)
			at, err := s.Create(t.Context(), one, []byte("one"), time.Minute)
			for n := 0; n < 50 && err == nil; n++ {
				if at, err = s.Update(t.Context(), one, at, nil, time.Minute); err == nil {
					_, _, err = s.Get(t.Context(), one)
				}
			}
			ended <- err
		}()
	}
	for range cap(ended) {
		require.NoError(t, <-ended)
	}
	_, err := s.Sweep(t.Context())
	require.NoError(t, err)
	_, err = s.Due(t.Context(), time.Now(), 10)
	require.NoError(t, err)
}

//go:build unix

package sqlitestore_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/sqlitestore"
	"github.com/mrtr-go/sdk/store/storetest"
)

const (
	sharedNames     = 40
	additionsByEach = 25
)

// runChild makes this process another one that works on the file, if a test of this
// file started it for that, and then does not return.
func runChild() {
	path := os.Getenv("SQLITESTORE_FILE")
	if path == "" {
		return
	}
	if err := child(path, os.Getenv("SQLITESTORE_WORK")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child works on the file when its input says so, and prints the keys it won.
func child(path, work string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	epoch, err := s.Epoch(ctx)
	if err != nil {
		return err
	}
	fmt.Println("ready", epoch)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if work == "write" {
		return writeOn(ctx, s, epoch)
	}
	for i := range sharedNames {
		_, err := s.Create(ctx, store.Key{Epoch: epoch, Name: fmt.Sprintf("shared.%d", i)}, []byte(strconv.Itoa(os.Getpid())), time.Hour)
		if err == nil {
			fmt.Println("won", i)
		} else if !errors.Is(err, store.ErrExists) {
			return err
		}
	}
	counter := store.Key{Epoch: epoch, Name: "counter"}
	_, err = s.Create(ctx, counter, []byte("0"), time.Hour)
	if err != nil && !errors.Is(err, store.ErrExists) {
		return err
	}
	for done := 0; done < additionsByEach; {
		value, at, err := s.Get(ctx, counter)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(value))
		if err != nil {
			return err
		}
		_, err = s.Update(ctx, counter, at, []byte(strconv.Itoa(n+1)), time.Hour)
		if err == nil {
			done++
		} else if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

// writeOn writes until it is killed, and prints each acknowledged write.
func writeOn(ctx context.Context, s *sqlitestore.Store, epoch string) error {
	for i := 0; ; i++ {
		key := store.Key{Epoch: epoch, Name: fmt.Sprintf("record.%d", i)}
		at, err := s.Create(ctx, key, []byte("one"), time.Hour)
		if err != nil {
			return err
		}
		if at, err = s.Update(ctx, key, at, []byte("two"), time.Hour); err != nil {
			return err
		}
		fmt.Println("wrote", key.Name, at)
	}
}

func start(t *testing.T, path, work string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Scanner, epoch string) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SQLITESTORE_FILE="+path, "SQLITESTORE_WORK="+work)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out = bufio.NewScanner(stdout)
	require.True(t, out.Scan(), "the process ended before it was ready")
	epoch, ok := strings.CutPrefix(out.Text(), "ready ")
	require.True(t, ok, out.Text())
	return cmd, in, out, epoch
}

func TestProcessesShareOneFile(t *testing.T) {
	const processes = 4
	path := filepath.Join(t.TempDir(), "rounds.db")
	var cmds [processes]*exec.Cmd
	var inputs [processes]io.WriteCloser
	var outputs [processes]*bufio.Scanner
	epochs := map[string]bool{}
	for i := range processes {
		var epoch string
		cmds[i], inputs[i], outputs[i], epoch = start(t, path, "share")
		epochs[epoch] = true
	}
	require.Len(t, epochs, 1)
	for _, in := range inputs {
		require.NoError(t, in.Close())
	}
	winners := map[string]int{}
	for i, out := range outputs {
		for out.Scan() {
			winners[out.Text()]++
		}
		require.NoError(t, out.Err())
		require.NoErrorf(t, cmds[i].Wait(), "process %d", i)
	}
	require.Len(t, winners, sharedNames)
	for name, n := range winners {
		require.Equal(t, 1, n, name)
	}
	s := open(t, path, nil)
	value, _, err := s.Get(t.Context(), storetest.KeyOf(t, s, "counter"))
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(processes*additionsByEach), string(value))
}

// Writes acknowledged before a process was killed are there, and the next
// process goes on.
func TestProcessIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	var last uint64
	for _, after := range []int{1, 5, 30} {
		cmd, in, out, epoch := start(t, path, "write")
		require.NoError(t, in.Close())
		acknowledged := map[string]uint64{}
		for out.Scan() {
			var name string
			var at uint64
			_, err := fmt.Sscanf(out.Text(), "wrote %s %d", &name, &at)
			require.NoError(t, err)
			if acknowledged[name] = at; len(acknowledged) == after {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait(), "it was killed")
		require.GreaterOrEqual(t, len(acknowledged), after)

		s := open(t, path, nil)
		for name, at := range acknowledged {
			value, now, err := s.Get(t.Context(), store.Key{Epoch: epoch, Name: name})
			require.NoError(t, err)
			require.Equal(t, "two", string(value))
			require.Equal(t, at, uint64(now))
			last = max(last, at)
		}
		key := storetest.KeyOf(t, s, fmt.Sprintf("after.%d", after))
		require.Equal(t, epoch, key.Epoch)
		at, err := s.Create(t.Context(), key, nil, time.Hour)
		require.NoError(t, err)
		require.Greater(t, uint64(at), last)

		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		var verdict string
		require.NoError(t, db.QueryRow("PRAGMA integrity_check").Scan(&verdict))
		require.Equal(t, "ok", verdict)
		_, err = db.Exec("DELETE FROM rounds WHERE name LIKE 'record.%'")
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
}

// Processes that start while another one holds the file's lock learn the epoch at once.
func TestAnEpochIsReadWhileTheFileIsLocked(t *testing.T) {
	const processes = 12
	path := filepath.Join(t.TempDir(), "rounds.db")
	epoch := storetest.KeyOf(t, open(t, path, nil), "any").Epoch
	var stores [processes]*sqlitestore.Store
	for i := range stores {
		stores[i] = open(t, path, nil)
	}
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	lock, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer lock.Close()
	_, err = lock.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var all sync.WaitGroup
	var errs [processes]error
	for i, s := range stores {
		all.Go(func() {
			for range 20 {
				var found string
				if found, errs[i] = s.Epoch(ctx); errs[i] == nil && found != epoch {
					errs[i] = fmt.Errorf("the epoch is %s", found)
				}
				if errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	_, err = lock.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
}

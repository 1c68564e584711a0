//go:build unix

package crashtest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest/internal/fault"
	"github.com/mrtr-go/sdk/tasks"
)

// takesNoTasks is a store that fails whenever a task is created, until a time.
type takesNoTasks struct {
	*store.Memory
	until time.Time
}

func (s takesNoTasks) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if strings.HasPrefix(key.Name, "task.") && time.Now().Before(s.until) {
		return 0, errUnsteady
	}
	return s.Memory.Create(ctx, key, value, ttl)
}

// A storm can stop the store for the very moment in which a task is created. The call is
// served without a task then, and has no id to ask for.
func TestATaskThatTheStoreDoesNotTakeIsBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clears := time.Now().Add(time.Second)
		conn, till := serveTasks(t, takesNoTasks{store.NewMemory(nil), clears}, Find("journal + Check"))
		player := &storm{}
		for i := range player.processes {
			player.processes[i] = &process{Client: Client{conn: conn}}
		}
		var end shown
		require.NoError(t, fault.Caught(func() { end = player.follow(t.Context(), player.begin(t.Context(), "order")) }))
		require.False(t, time.Now().Before(clears))
		require.Equal(t, "completed", end.Status)
		paid, err := readPayments(till)
		require.NoError(t, err)
		require.Len(t, paid, 1, "the call that was no task has paid nothing")
	})
}

// serveTasks serves each call of a row as a task, in this process.
func serveTasks(t *testing.T, s store.Store, row Row) (conn *wire.Client, payments string) {
	t.Helper()
	rt, err := mrtr.New(&mrtr.Options{Store: s})
	require.NoError(t, err)
	payments = filepath.Join(t.TempDir(), "payments")
	row.Opts.Task.AtOnce = true
	server, err := newServer(rt, &Till{path: payments, trap: &trap{}, mails: true, remembered: true}, map[string]Row{toolName: row})
	require.NoError(t, err)
	m, err := tasks.Install(server, &tasks.Options{Runtime: rt})
	require.NoError(t, err)
	conn, err = wire.Connect(t.Context(), server, &wire.Options{Unrecorded: true, TakesTasks: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.NoError(t, m.Close())
		require.NoError(t, rt.Close())
	})
	return conn, payments
}

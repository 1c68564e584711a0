package tasks_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// hooked is a store that does something else once with the record of a task.
type hooked struct {
	machine
	read  atomic.Pointer[func()]                         // with what has been read
	write atomic.Pointer[func(write func() error) error] // instead of writing
}

func (s *hooked) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	value, at, err := s.machine.Get(ctx, key)
	if strings.HasPrefix(key.Name, "task.") {
		if read := s.read.Swap(nil); read != nil {
			(*read)()
		}
	}
	return value, at, err
}

func (s *hooked) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (now store.Revision, err error) {
	update := func() error {
		now, err = s.machine.Update(ctx, key, at, value, ttl)
		return err
	}
	if strings.HasPrefix(key.Name, "task.") {
		if write := s.write.Swap(nil); write != nil {
			if err := (*write)(update); err != nil {
				return 0, err
			}
			return now, nil
		}
	}
	return now, update()
}

// hearsLate lets the next write be done at once, and its writer hear of it when late is closed.
func (s *hooked) hearsLate() (late chan struct{}) {
	late = make(chan struct{})
	write := func(write func() error) error {
		err := write()
		<-late
		return err
	}
	s.write.Store(&write)
	return late
}

// A task counts as waiting while its questions stand: whatever else reads and writes its record
// at that moment, and whatever becomes of the write.
func TestATaskWaitsWhileItsQuestionsStand(t *testing.T) {
	tasks := func(here *site) (n int) {
		for _, w := range here.manager.Waiting() {
			n += w.Tasks
		}
		return n
	}
	// scene is a task that is about to ask its second question.
	type scene struct {
		*site
		client
		store *hooked
		id    string
		ask   func() // lets it ask
	}
	failing := func(err error) func(func() error) error { return func(func() error) error { return err } }
	for explanation, play := range map[string]func(t *testing.T, s scene) (waiting int){
		"nothing else happens": func(_ *testing.T, s scene) int {
			s.ask()
			return 1
		},
		"a poll has read the record before, and comes by after": func(_ *testing.T, s scene) int {
			late, polled := make(chan struct{}), make(chan struct{})
			read := func() { <-late }
			s.store.read.Store(&read)
			go func() {
				defer close(polled)
				s.get(s.id)
			}()
			synctest.Wait()
			s.ask()
			close(late)
			<-polled
			return 1
		},
		"a poll reads the questions before their writer knows of them": func(t *testing.T, s scene) int {
			late := s.store.hearsLate()
			s.ask()
			require.Equal(t, "input_required", s.get(s.id).Status)
			close(late)
			return 1
		},
		"the answers come before their writer knows of the questions": func(t *testing.T, s scene) int {
			late := s.store.hearsLate()
			s.ask()
			require.Equal(t, "completed", s.finish(s.id).Status)
			close(late)
			return 0
		},
		"they are written, and the store says that it failed": func(t *testing.T, s scene) int {
			write := func(write func() error) error {
				require.NoError(t, write())
				return context.DeadlineExceeded
			}
			s.store.write.Store(&write)
			s.ask()
			return 1
		},
		"they are written at the second attempt": func(_ *testing.T, s scene) int {
			write := failing(context.DeadlineExceeded)
			s.store.write.Store(&write)
			s.ask()
			return 1
		},
		"the store has forgotten the task": func(_ *testing.T, s scene) int {
			write := failing(store.ErrForgotten)
			s.store.write.Store(&write)
			s.ask()
			return 0
		},
		"the store fails for longer than a lease": func(_ *testing.T, s scene) int {
			var write func(func() error) error
			write = func(func() error) error {
				s.store.write.Store(&write)
				return context.DeadlineExceeded
			}
			s.store.write.Store(&write)
			s.ask()
			time.Sleep(20 * time.Second)
			s.store.write.Store(nil)
			return 0
		},
		"the task was cancelled": func(_ *testing.T, s scene) int {
			s.ask()
			s.cancel(s.id)
			return 0
		},
	} {
		t.Run(explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				records := &hooked{machine: machine{store.NewMemory(nil)}}
				did := &ledger{}
				here := newSite(t, setting{style: "native", policy: atOnce, did: did, records: records, keys: []statecodec.Key{statecodec.GenerateKey()}})
				c := connect(t, here.server)
				id, release := stands(t, c, did, atWork)
				require.Zero(t, tasks(here))
				want := play(t, scene{here, c, records, id, func() {
					release()
					time.Sleep(time.Second)
				}})
				time.Sleep(time.Second)
				require.Equal(t, want, tasks(here))
				c.finish(id)
				time.Sleep(time.Second)
				require.Zero(t, tasks(here), "when it has ended")
			})
		})
	}
}

// The answers of a task are written down, and nobody says so: its client hung up, or the store timed out.
// The task goes on.
func TestAnswersWhoseWriteIsNotConfirmed(t *testing.T) {
	for _, style := range []string{"plain", "native"} {
		t.Run(style, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				records := &hooked{machine: machine{store.NewMemory(nil)}}
				here := newSite(t, setting{style: style, policy: atOnce, records: records, keys: []statecodec.Key{statecodec.GenerateKey()}})
				c := connect(t, here.server)
				asked := c.settle(c.call().TaskID)
				require.Equal(t, "input_required", asked.Status)
				write := func(write func() error) error { return errors.Join(write(), context.DeadlineExceeded) }
				records.write.Store(&write)
				began := time.Now()
				c.answer(asked)
				require.Equal(t, "completed", c.finish(asked.TaskID).Status)
				require.Less(t, time.Since(began), 15*time.Second, "it waits for no lease")
			})
		})
	}
}

// Nobody has to count the tasks that wait, and those that expired are not kept for it.
func TestTasksThatExpiredAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here := newSite(t, setting{style: "native", policy: atOnce, options: tasks.Options{TTL: time.Minute}})
		c := connect(t, here.server)
		for range 20 {
			for range 50 {
				require.Equal(t, "task", c.call().ResultType)
			}
			time.Sleep(2 * time.Minute)
		}
		require.LessOrEqual(t, here.manager.Kept(), 200)
		require.Empty(t, here.manager.Waiting())
	})
}

package pgonce

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// mortal is the store of a process that may die: then it reaches nothing any more.
type mortal struct {
	*store.Memory
	dead atomic.Bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) Scope() store.Scope { return store.Cluster }

func (m *mortal) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if m.dead.Load() {
		return 0, errDead
	}
	return m.Memory.Create(ctx, key, value, ttl)
}

func (m *mortal) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if m.dead.Load() {
		return 0, errDead
	}
	return m.Memory.Update(ctx, key, at, value, ttl)
}

// Two processes die, one after the other, at whichever step of the transaction: the third
// one finds the row, or that there is none, and the effect has happened once.
func TestTheRowSettlesADoubtAfterTwoDeaths(t *testing.T) {
	steps := []string{"begin", "insert", "update", "commit", "answer"}
	for _, first := range steps {
		for _, second := range append(steps, "select") {
			if (first == "answer") != (second == "select") && second != "begin" && second != "insert" {
				continue // the second one does not come to it
			}
			t.Run(first+" "+second, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rounds, keys := store.NewMemory(nil), []statecodec.Key{statecodec.GenerateKey()}
					kept, end, ran := map[string][]byte{}, make(chan struct{}), 0
					process := func(dies string) (*wire.Client, *mortal) {
						life := &mortal{Memory: rounds}
						db := &rows{kept: kept, fail: func(op string) error {
							if op == dies {
								life.dead.Store(true)
							}
							if life.dead.Load() {
								<-end
								return errDead
							}
							return nil
						}}
						return shop(t, &mrtr.Options{Store: life, State: &statecodec.Options{Keys: keys}}, db, &ran), life
					}
					doomed, death := process(first)
					answer := asked(t, doomed)
					giveUp := func(client *wire.Client, death *mortal) {
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						_, err := client.Send(ctx, answer)
						require.Error(t, err)
						require.True(t, death.dead.Load())
					}
					giveUp(doomed, death)
					giveUp(process(second))
					var last *wire.Reply
					living, _ := process("never")
					for range 10 { // a claim of a dead process is waited for
						var err error
						last, err = living.Send(t.Context(), answer)
						require.NoError(t, err)
						if last.Error == nil {
							break
						}
					}
					require.Nil(t, last.Error)
					require.False(t, last.IsError, last.Text)
					require.Len(t, kept, 1)
					if first == "answer" {
						require.Equal(t, 1, ran)
					}
					for _, value := range kept {
						require.JSONEq(t, fmt.Sprintf(`{"paid":%s}`, value), string(last.Structured))
					}
					close(end)
				})
			})
		}
	}
}

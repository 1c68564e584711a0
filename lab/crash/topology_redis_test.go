//go:build unix

package crash

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/redisstore"
	"github.com/mrtr-go/sdk/store/storetest"
)

// redisScene is a server with what happens to it by commands of an administrator.
func redisScene(t *testing.T, addr string, opts *redisstore.Options, at func(do func(command string))) Scene {
	way := storetest.NewProxy(t, addr)
	return Scene{
		Open: func(int) store.Store {
			s, err := redisstore.Open(t.Context(), connectRedis(t, way.Addr(), 0), opts)
			require.NoError(t, err)
			return s
		},
		At: func() { at(commands(t, addr)) },
	}
}

// commands sends commands to a server, each as its words.
func commands(t *testing.T, addr string) func(command string) {
	admin := connectRedis(t, addr, 0)
	return func(command string) {
		var words []any
		for _, word := range strings.Fields(command) {
			words = append(words, word)
		}
		require.NoError(t, admin.Do(t.Context(), words...).Err(), command)
	}
}

var redisEvents = []Event{
	{Name: "a replica that lags is promoted", Daily: true, Set: func(t *testing.T) Scene {
		master, replica := storetest.Redis.Start(t), storetest.Redis.Start(t)
		follows, way := storetest.NewProxy(t, master), storetest.NewProxy(t, master)
		do := commands(t, replica)
		host, port, _ := net.SplitHostPort(follows.Addr())
		do("REPLICAOF " + host + " " + port)
		return Scene{
			Open: func(int) store.Store {
				s, err := redisstore.Open(t.Context(), connectRedis(t, way.Addr(), 0), &redisstore.Options{AcceptLoss: true})
				require.NoError(t, err)
				return s
			},
			Before: func() {
				commands(t, master)("WAIT 1 10000")
				follows.HoldAnswers()
			},
			At: func() {
				follows.Cut()
				do("REPLICAOF NO ONE")
				way.Turn(replica)
			},
		}
	}},
	{Name: "flushed", Set: func(t *testing.T) Scene {
		return redisScene(t, storetest.Redis.Start(t), nil, func(do func(string)) { do("FLUSHALL") })
	}},
	{Name: "evicts", Set: func(t *testing.T) Scene {
		return redisScene(t, storetest.Redis.Start(t), nil, func(do func(string)) {
			do("CONFIG SET maxmemory-policy allkeys-random")
			do("CONFIG SET maxmemory 1500kb")
			do("CONFIG SET maxmemory 0")
			do("CONFIG SET maxmemory-policy noeviction") // or nobody could open it
		})
	}},
}

func TestRedisEvents(t *testing.T) {
	RunEvents(t, "Redis", append(redisEvents, clockEvent(redisServer)))
}

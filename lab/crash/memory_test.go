//go:build unix

package crash

import (
	"os"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/lab/storm"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

func TestMain(m *testing.M) {
	code := Main(m, sqlite, natsServer, postgres, redisServer)
	storetest.StopShared()
	os.Exit(code)
}

// Random schedules over several instances, as each store plays them, in memory: a few at
// once, and a thousand in the night.
func TestSchedules(t *testing.T) {
	storm.Schedules{
		Subject: func(*testing.T) *storetest.Subject { return &storetest.Subject{Store: store.NewMemory(nil)} },
		Number:  storm.Nightly(1000, 32), AtOnce: 32, Lease: 200 * time.Millisecond,
	}.Run(t)
}

// proxied is a subject behind a proxy: its first handle goes through it, and others do not.
func proxied[Conn any](t *testing.T, addr string, connect func(addr string) Conn, open func(Conn) store.Store, wipe func(Conn)) *storetest.Subject {
	proxy := storetest.NewProxy(t, addr)
	s, direct := open(connect(proxy.Addr())), connect(addr)
	return &storetest.Subject{
		Store:   s,
		Another: func() store.Store { return open(direct) },
		Wipe: func() store.Store {
			wipe(direct)
			return s
		},
		HoldRequests: proxy.HoldRequests, HoldAnswers: proxy.HoldAnswers, Cut: proxy.Cut,
	}
}

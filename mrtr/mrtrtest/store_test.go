package mrtrtest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/store"
)

// unreachable is a store that cannot be reached while it is down.
type unreachable struct {
	store.Store
	down *atomic.Bool
}

func (u unreachable) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if u.down.Load() {
		return 0, errors.New("the database is down")
	}
	return u.Store.Create(ctx, key, value, ttl)
}

// A round whose store fails is refused before anything runs.
func TestWithAStore(t *testing.T) {
	for _, outage := range []bool{false, true} {
		build := func(w *mrtrtest.World) *mcp.Server {
			down := new(atomic.Bool)
			down.Store(outage)
			rt := engine(t, w, unreachable{w.Store(), down})
			server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, linear.Journal(func(ctx context.Context, c *mrtr.Call, _ trip) (string, error) {
				where, err := linear.Ask(ctx, c, seat)
				if err != nil {
					return "", err
				}
				w.Effect("charge")
				return where, nil
			}), nil))
			return server
		}
		out := mrtrtest.Call(t, build, toLisbon(mrtrtest.Value("window")), &mrtrtest.Options{FreshInstances: true})
		if outage {
			out.WantEffects(t)
			require.NotNil(t, out.Error)
		} else {
			out.WantEffects(t, "charge")
			require.Equal(t, 2, out.Requests)
		}
	}
}

//go:build unix

package redisstore_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store/storetest/crashtest"
)

// tripsIn finds the commands that a store sends: scripts, and the read of a record, which
// no script does with this command.
var tripsIn = regexp.MustCompile(`cmdstat_(?:eval|evalsha|hmget):calls=(\d+)`)

// Redis itself counts three commands for a round that ends with an effect in a handler
// that can run again, and one for a repeat.
func TestTripsOfARound(t *testing.T) {
	redis := connect(t, server.Start(t), 0)
	trips := func() (n int) {
		text, err := redis.Info(t.Context(), "commandstats").Result()
		require.NoError(t, err)
		for _, found := range tripsIn.FindAllStringSubmatch(text, -1) {
			calls, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			n += calls
		}
		return n
	}
	instances := crashtest.NewInstances(t)
	instances.Lease = time.Hour // no other sign of life falls into a round
	client := instances.Start(open(t, redis, nil), crashtest.Find("journal"), nil)
	send := func(order string, times int) (each []int) {
		request, err := client.Ask(t.Context(), order)
		require.NoError(t, err)
		for range times {
			before := trips()
			a, err := client.Send(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, "ok", a.Class)
			each = append(each, trips()-before)
		}
		return each
	}
	send("tea", 1) // the server learns the scripts
	require.Equal(t, []int{3, 1, 1}, send("coffee", 3))
}

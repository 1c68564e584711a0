//go:build unix

package mrtr_test

import (
	"os"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
	"github.com/mrtr-go/sdk/store/storetest/crashtest"
)

// Random schedules over several instances, as each store plays them, in memory: a few at
// once, and a thousand in CI.
func TestSchedules(t *testing.T) {
	s := crashtest.Schedules{
		Subject: func(*testing.T) *storetest.Subject { return &storetest.Subject{Store: store.NewMemory(nil)} },
		Number:  32, AtOnce: 32, Lease: 200 * time.Millisecond,
	}
	if os.Getenv("MRTR_CI") == "1" {
		s.Number = 1000
	}
	s.Run(t)
}

//go:build unix

package crash

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
)

// outlasting is longer than a lease.
const outlasting = 3 * time.Second

// takesClocks skips a test where no clock of a process can be taken over.
func takesClocks(t *testing.T) {
	if on := runtime.GOOS + "/" + runtime.GOARCH; on != "linux/amd64" {
		if os.Getenv("MRTR_CI") == "1" {
			t.Fatal("no clock can be taken over on " + on)
		}
		t.Skip("no clock can be taken over on " + on + ": use linux/amd64")
	}
}

// clockEvent moves the clock of one of two processes while rounds of both run, and the other
// process waits for each of them. No round that is alive may be taken for one that is not.
func clockEvent(b *Backend) Event {
	return Event{Name: "an instance's clock is moved by two hours, ahead and back", Keeps: true, Daily: b.Outcomes, Set: func(t *testing.T) Scene {
		takesClocks(t)
		of := fleet.Job{
			Backend: b.Name, Address: b.Addresses(t)(), Key: fleet.NewKey(), Lease: sceneRemember.Lease,
			Holds: true, HoldTime: outlasting, Keyed: true,
		}
		var wrong *fleet.Clock
		return Scene{
			Lasts: outlasting,
			Process: func(instance int, l fleet.Ledger) *fleet.Server {
				of.Ledger = l
				server := fleet.StartServer(t.Context(), of)
				t.Cleanup(server.End)
				if instance == 0 {
					wrong = fault.Must(server.Clock())
				}
				return server
			},
			At: func() {
				for range storm.Nightly(4, 1) {
					for _, ahead := range []time.Duration{2 * time.Minute, -2 * time.Minute, 2 * time.Hour, -2 * time.Hour, 0} {
						require.NoError(t, wrong.Move(ahead))
						require.NoError(t, fleet.Pause(t.Context(), outlasting))
					}
				}
			},
		}
	}}
}

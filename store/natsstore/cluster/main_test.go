//go:build unix

package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The binary, as it is built.
func TestACallCompletesOverADeath(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	path := filepath.Join(t.TempDir(), "cluster")
	built, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	cmd := exec.CommandContext(ctx, path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, `client      calls weather, at Springfield
instance 1  asks place
client      is asked "Which Springfield?", answers "Springfield, Illinois"
instance 2  claims round 2
instance 2  writes the audit line
            SIGKILL: instance 2 ends before it can remember that it did
client      is told to send the same request again, and does
instance 3  hears nothing of the other for a lease, and takes round 2 over
instance 3  looks for the audit line: it is there, so it writes none
instance 3  asks units
client      is asked "Which units?", answers "metric"
instance 1  claims round 3
instance 1  completes the call
client      gets: Weather in Springfield, Illinois: 18°C, clear.

            One instance died, the call completed, and the audit has 1 line.
`, string(out))
}

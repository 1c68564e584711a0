//go:build unix

package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store/storetest"
)

// movable starts a server whose clock can be moved, which move does for some seconds each: by
// two minutes and by two hours, ahead and back. Each time it calls a function, such as a sweep.
func movable(t *testing.T, of *storetest.Server) (addr string, move func(each func())) {
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	require.NoError(t, err)
	require.NotEmpty(t, libraries, "install faketime, as store/install does")
	clock := filepath.Join(t.TempDir(), "clock")
	set := func(offset string) { require.NoError(t, os.WriteFile(clock, []byte(offset), 0o644)) }
	set("+0")
	require.NoError(t, os.Chmod(filepath.Dir(clock), 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(clock)), 0o755))
	server := &storetest.Server{Programs: of.Programs, Ready: of.Ready, Command: func(t testing.TB, program, dir, host, port string) *exec.Cmd {
		cmd := of.Command(t, program, dir, host, port)
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+libraries[0], "FAKETIME_TIMESTAMP_FILE="+clock, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
		return cmd
	}}
	return server.Start(t), func(each func()) {
		for _, offset := range []string{"+120", "-120", "+7200", "-7200", "+0"} {
			set(offset)
			time.Sleep(2 * time.Second)
			each()
		}
	}
}

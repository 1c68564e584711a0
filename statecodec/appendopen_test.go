package statecodec_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// Opening behind other bytes leaves those alone, and nothing of the payload elsewhere.
func TestAppendOpen(t *testing.T) {
	for _, readable := range []bool{false, true} {
		c, err := statecodec.New(&statecodec.Options{Ephemeral: true, Readable: readable})
		require.NoError(t, err)
		for _, size := range []int{0, 1, 16, 100, 2000} {
			payload := bytes.Repeat([]byte{0xa5}, size)
			token, err := c.Seal(statecodec.Binding{Target: "x"}, payload)
			require.NoError(t, err)
			memory := make([]byte, 3000)
			copy(memory, "before")
			opened, err := c.AppendOpen(memory[:6], statecodec.Binding{Target: "x"}, token)
			require.NoError(t, err)
			require.Equal(t, "before"+string(payload), string(opened))
			require.Zero(t, bytes.Count(memory[len(opened):], []byte{0xa5}), "outside of what was returned")

			opened, err = c.AppendOpen(memory[:6], statecodec.Binding{Target: "y"}, token)
			require.Error(t, err)
			require.Equal(t, "before", string(opened))

			allocated := testing.AllocsPerRun(100, func() {
				if _, err := c.AppendOpen(memory[:0], statecodec.Binding{Target: "x"}, token); err != nil {
					panic(err)
				}
			})
			if size <= 100 && !raceEnabled {
				require.Zero(t, allocated, "%d bytes", size)
			}
		}
	}
}

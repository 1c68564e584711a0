//go:build !race

package statecodec_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// The race detector makes sync.Pool forget at random, so that this says nothing under it.
func TestOpeningAllocatesNothing(t *testing.T) {
	for _, readable := range []bool{false, true} {
		c := newCodec(statecodec.Options{Readable: readable})
		for _, size := range []int{0, 1, 16, 100} {
			token := must(c.Seal(fullBinding, bytes.Repeat([]byte{0xa5}, size)))
			memory := make([]byte, 300)
			allocated := testing.AllocsPerRun(100, func() { must(c.AppendOpen(memory[:0], fullBinding, token, time.Now())) })
			allocated += testing.AllocsPerRun(100, func() { _, _ = c.Open(statecodec.Binding{}, token) })
			require.Zero(t, allocated, "%d bytes", size)
		}
	}
}

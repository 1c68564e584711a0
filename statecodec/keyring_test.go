package statecodec_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// Two instances replace a key one after the other, in three phases. Each token that either of
// them seals on the way opens at both.
func TestRotation(t *testing.T) {
	older, newer := testKey(1), testKey(2)
	var rings []*statecodec.Keyring
	var codecs []*statecodec.Codec
	for range 2 {
		ring := must(statecodec.NewKeyring(older))
		c := newCodec(statecodec.Options{Keyring: ring})
		rings, codecs = append(rings, ring), append(codecs, c, must(c.For("a purpose").Lasting(statecodec.DefaultTTL)))
	}
	first := must(codecs[0].Seal(fullBinding, nil))
	for _, keys := range [][]statecodec.Key{{older, newer}, {newer, older}, {newer}} {
		for _, ring := range rings {
			require.NoError(t, ring.Replace(keys...))
			for i, c := range codecs {
				requireOpens(t, c, must(codecs[(i+2)%4].Seal(fullBinding, nil)))
			}
		}
	}
	_, err := codecs[0].Open(fullBinding, first)
	requireRefused(t, statecodec.ReasonUnknownKey, err, "the old key is gone")
	require.Error(t, rings[0].Replace(older, statecodec.Key{}))
	requireOpens(t, codecs[0], must(codecs[2].Seal(fullBinding, nil)), "bad keys leave the ring as it was")
	_, err = statecodec.NewKeyring()
	requireUsage(t, err, "it needs a key")
}

// Whoever seals and opens while keys are replaced does so with the old or the new, and with
// buffers of their own. The race detector is the judge too.
func TestKeysAreReplacedUnderLoad(t *testing.T) {
	ring := must(statecodec.NewKeyring(testKey(1), testKey(2)))
	c := newCodec(statecodec.Options{Keyring: ring, PerPrincipal: true}).For("load")
	var all sync.WaitGroup
	defer all.Wait()
	for i := range 8 {
		all.Go(func() {
			for n := range 500 {
				b, payload := statecodec.Binding{Principal: fmt.Sprint(i, n%7)}, fmt.Sprint(i, n)
				token, err := c.Seal(b, []byte(payload))
				opened, refused := c.Open(b, token)
				if err != nil || refused != nil || string(opened) != payload {
					t.Errorf("%q opens to %q: %v, %v", payload, opened, err, refused)
					return
				}
			}
		})
	}
	for n := range 200 {
		require.NoError(t, ring.Replace(testKey(byte(1+n%2)), testKey(byte(2-n%2)), testKey(byte(3+n%2))))
	}
}

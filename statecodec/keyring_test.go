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
	for name, derive := range map[string]func(*statecodec.Codec) *statecodec.Codec{
		"plain": func(c *statecodec.Codec) *statecodec.Codec { return c },
		"derived": func(c *statecodec.Codec) *statecodec.Codec {
			return must(c.For("a purpose").Lasting(statecodec.DefaultTTL))
		},
	} {
		rings := []*statecodec.Keyring{must(statecodec.NewKeyring(older)), must(statecodec.NewKeyring(older))}
		a, b := derive(newCodec(statecodec.Options{Keyring: rings[0]})), derive(newCodec(statecodec.Options{Keyring: rings[1]}))
		first := must(a.Seal(fullBinding, nil))
		for p, keys := range [][]statecodec.Key{{older, newer}, {newer, older}, {newer}} {
			for _, ring := range rings {
				require.NoError(t, ring.Replace(keys...))
				requireOpens(t, a, must(b.Seal(fullBinding, nil)), "%s: phase %d", name, p+1)
				requireOpens(t, b, must(a.Seal(fullBinding, nil)), "%s: phase %d", name, p+1)
			}
		}
		_, err := a.Open(fullBinding, first)
		requireRefused(t, statecodec.ReasonUnknownKey, err, "the old key is gone")
		require.Error(t, rings[0].Replace(older, statecodec.Key{}))
		requireOpens(t, a, must(b.Seal(fullBinding, nil)), "bad keys leave the ring as it was")
	}
	_, err := statecodec.NewKeyring()
	requireUsage(t, err, "it needs a key")
}

// Whoever seals and opens while keys are replaced does so with the old or the new, and with
// buffers of their own. The race detector is the judge too.
func TestKeysAreReplacedUnderLoad(t *testing.T) {
	ring := must(statecodec.NewKeyring(testKey(1), testKey(2)))
	c := newCodec(statecodec.Options{Keyring: ring, PerPrincipal: true}).For("load")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 500 {
				b := statecodec.Binding{Principal: fmt.Sprint(i, n%7)}
				payload := fmt.Sprint(i, n)
				token, err := c.Seal(b, []byte(payload))
				if err != nil {
					t.Error(err)
					return
				}
				if opened, err := c.Open(b, token); err != nil || string(opened) != payload {
					t.Errorf("%q opens to %q: %v", payload, opened, err)
					return
				}
			}
		})
	}
	for n := range 200 {
		keys := []statecodec.Key{testKey(1), testKey(2), testKey(byte(3 + n%2))}
		if n%2 == 1 {
			keys[0], keys[1] = keys[1], keys[0]
		}
		require.NoError(t, ring.Replace(keys...))
	}
	all.Wait()
}

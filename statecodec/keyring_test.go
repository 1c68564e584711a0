package statecodec_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

func newKeyring(t *testing.T, keys ...statecodec.Key) *statecodec.Keyring {
	t.Helper()
	ring, err := statecodec.NewKeyring(keys...)
	require.NoError(t, err)
	return ring
}

// Two instances replace a key one after the other, in three phases. Each token that either of
// them seals on the way opens at both, whatever it was sealed for.
func TestAKeyIsReplacedInThreePhases(t *testing.T) {
	older, newer := testKey(1), testKey(2)
	phases := [][]statecodec.Key{{older}, {older, newer}, {newer, older}, {newer}}
	for name, derive := range map[string]func(*statecodec.Codec) *statecodec.Codec{
		"plain":   func(c *statecodec.Codec) *statecodec.Codec { return c },
		"derived": func(c *statecodec.Codec) *statecodec.Codec { return c.For("a purpose") },
		"longer": func(c *statecodec.Codec) *statecodec.Codec {
			return must(c.For("a purpose").Lasting(statecodec.DefaultTTL * 2))
		},
		"derived later": nil,
	} {
		t.Run(name, func(t *testing.T) {
			var rings []*statecodec.Keyring
			var codecs []*statecodec.Codec
			for range 2 {
				ring := newKeyring(t, older)
				c := must(statecodec.New(&statecodec.Options{Keyring: ring}))
				if derive != nil {
					c = derive(c)
				}
				rings, codecs = append(rings, ring), append(codecs, c)
			}
			var tokens []string
			exchange := func(explanation string) {
				for i, c := range codecs {
					if derive == nil {
						c = c.For("this time")
					}
					token, err := c.Seal(fullBinding, []byte("x"))
					require.NoError(t, err)
					tokens = append(tokens, token)
					for j, other := range codecs {
						if derive == nil {
							other = other.For("this time")
						}
						_, err := other.Open(fullBinding, token)
						require.NoError(t, err, "%s: sealed by %d, opened by %d", explanation, i, j)
					}
				}
			}
			for p, keys := range phases {
				for i, ring := range rings {
					require.NoError(t, ring.Replace(keys...))
					exchange(fmt.Sprintf("phase %d, instance %d", p, i))
				}
			}
			last := codecs[0]
			if derive == nil {
				last = last.For("this time")
			}
			_, err := last.Open(fullBinding, tokens[0])
			requireRefused(t, statecodec.ReasonUnknownKey, err, "the old key is gone")
		})
	}
}

// Without its first phase a replacement refuses what the others have sealed already: that is
// what the phase is for.
func TestAReplacementWithoutItsFirstPhase(t *testing.T) {
	one, other := newKeyring(t, testKey(1)), newKeyring(t, testKey(1))
	a, b := must(statecodec.New(&statecodec.Options{Keyring: one})), must(statecodec.New(&statecodec.Options{Keyring: other}))
	require.NoError(t, one.Replace(testKey(2), testKey(1)))
	_, err := b.Open(fullBinding, must(a.Seal(fullBinding, nil)))
	requireRefused(t, statecodec.ReasonUnknownKey, err)
}

func TestAKeyringRefusesBadKeys(t *testing.T) {
	ring := newKeyring(t, testKey(1))
	c := must(statecodec.New(&statecodec.Options{Keyring: ring}))
	token := must(c.Seal(fullBinding, nil))
	for explanation, keys := range map[string][]statecodec.Key{
		"none": nil, "the zero key": {testKey(2), {}}, "one twice": {testKey(2), testKey(3), testKey(2)},
	} {
		var misuse *statecodec.UsageError
		require.ErrorAs(t, ring.Replace(keys...), &misuse, explanation)
		_, err := statecodec.NewKeyring(keys...)
		require.ErrorAs(t, err, &misuse, explanation)
		requireOpens(t, c, token)
	}
	for explanation, o := range map[string]statecodec.Options{
		"a zero ring":        {Keyring: &statecodec.Keyring{}},
		"a ring beside keys": {Keyring: ring, Keys: []statecodec.Key{testKey(1)}},
		"a ring, and no key": {Keyring: ring, Ephemeral: true},
	} {
		_, err := statecodec.New(&o)
		var misuse *statecodec.UsageError
		require.ErrorAs(t, err, &misuse, explanation)
	}
}

// Whoever seals and opens while keys are replaced does so with the old or the new. The race
// detector is the judge too.
func TestKeysAreReplacedUnderLoad(t *testing.T) {
	ring := newKeyring(t, testKey(1), testKey(2))
	c := must(statecodec.New(&statecodec.Options{Keyring: ring, PerPrincipal: true})).For("load")
	var all sync.WaitGroup
	errs := make(chan error, 8)
	for i := range cap(errs) {
		all.Go(func() {
			for n := range 500 {
				b := statecodec.Binding{Principal: fmt.Sprint(i, n%7)}
				token, err := c.Seal(b, []byte("x"))
				if err == nil {
					_, err = c.Open(b, token)
				}
				if err != nil {
					errs <- err
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
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

func TestAKeyringPrintsNoSecret(t *testing.T) {
	key := testKey(7)
	ring := newKeyring(t, key)
	o := statecodec.Options{Keyring: ring}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("keys", "ring", ring, "options", o)
	asJSON, err := json.Marshal(o)
	require.NoError(t, err)
	for _, printed := range []string{fmt.Sprint(ring), fmt.Sprintf("%+v %#v %x %s %d", ring, ring, ring, ring, ring), fmt.Sprintf("%+v %#v", o, &o), log.String(), string(asJSON)} {
		require.NotContains(t, printed, key.Text())
		require.NotContains(t, printed, strings.Repeat("7, 7, 7", 2))
	}
	require.Contains(t, fmt.Sprint(ring), key.ID().String())
}

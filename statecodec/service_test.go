package statecodec_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// vault is a key service. Its own key never leaves it.
type vault struct {
	gcm  cipher.AEAD
	open func(ctx context.Context) error // before it opens anything, nil for nothing
}

func newVault() *vault {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return &vault{gcm: must(cipher.NewGCM(must(aes.NewCipher(key))))}
}

func (v *vault) Seal(_ context.Context, secret []byte) ([]byte, error) {
	nonce := make([]byte, v.gcm.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	return v.gcm.Seal(nonce, nonce, secret, nil), nil
}

func (v *vault) Open(ctx context.Context, sealed []byte) ([]byte, error) {
	if v.open != nil {
		if err := v.open(ctx); err != nil {
			return nil, err
		}
	}
	if len(sealed) < v.gcm.NonceSize() {
		return nil, errors.New("that is not mine")
	}
	return v.gcm.Open(nil, sealed[:v.gcm.NonceSize()], sealed[v.gcm.NonceSize():], nil)
}

func TestAServiceOpensTheKeysThatItSealed(t *testing.T) {
	v := newVault()
	var sealed []string
	var keys []statecodec.Key
	for b := range byte(3) {
		key := testKey(b + 1)
		text := must(statecodec.SealKey(t.Context(), v, key))
		require.NotContains(t, text, key.Text())
		sealed, keys = append(sealed, text), append(keys, key)
	}
	opened, err := statecodec.OpenKeys(t.Context(), v, sealed...)
	require.NoError(t, err)
	for i, key := range opened {
		require.Equal(t, keys[i].Text(), key.Text())
	}
	_, err = statecodec.SealKey(t.Context(), v, statecodec.Key{})
	var misuse *statecodec.UsageError
	require.ErrorAs(t, err, &misuse)
	_, err = statecodec.OpenKeys(t.Context(), v, "no base64!")
	require.ErrorAs(t, err, &misuse)
	_, err = statecodec.OpenKeys(t.Context(), newVault(), sealed...)
	var failed *statecodec.ServiceError
	require.ErrorAs(t, err, &failed, "another service has another key")
}

// A service that is down, slow, or deaf to the end of a context costs its caller a bounded time
// and an error that says to try again, and a server that runs nothing at all.
func TestAServiceThatFails(t *testing.T) {
	down := errors.New("it is down")
	for explanation, open := range map[string]func(context.Context) error{
		"down": func(context.Context) error { return down },
		"slow": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"deaf": func(context.Context) error { time.Sleep(time.Hour); return nil },
		"mad":  func(context.Context) error { panic("secret") },
	} {
		t.Run(explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVault()
				sealed := must(statecodec.SealKey(t.Context(), v, testKey(1)))
				ring, err := statecodec.NewKeyring(must(statecodec.OpenKeys(t.Context(), v, sealed))...)
				require.NoError(t, err)
				codec := must(statecodec.New(&statecodec.Options{Keyring: ring}))
				token := must(codec.Seal(fullBinding, nil))

				v.open = open
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				began := time.Now()
				_, err = statecodec.OpenKeys(ctx, v, sealed)
				require.LessOrEqual(t, time.Since(began), 2*time.Second)
				var failed *statecodec.ServiceError
				require.ErrorAs(t, err, &failed)
				require.True(t, failed.ToolErrorRetryable())
				require.NotContains(t, fmt.Sprint(err), "secret")
				requireOpens(t, codec, token)
				requireOpens(t, codec, must(codec.Seal(fullBinding, nil)))
				time.Sleep(2 * time.Hour) // until the deaf one has ended
			})
		})
	}
}

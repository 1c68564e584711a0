package statecodec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// The name is read without a key, from tokens that have one and from nothing else. A
// token without a name is as long as before there were any.
func TestInstanceIsReadWithoutAKey(t *testing.T) {
	for _, readable := range []bool{false, true} {
		plain, err := newCodec(t, statecodec.Options{Readable: readable}).Seal(fullBinding, []byte("payload"))
		require.NoError(t, err)
		_, ok := statecodec.Instance(plain)
		require.False(t, ok)
		for _, name := range []string{"a", "eu-2", "_", "-", strings.Repeat("x", 64)} {
			token, err := newCodec(t, statecodec.Options{Instance: name, Readable: readable}).Seal(fullBinding, []byte("payload"))
			require.NoError(t, err)
			require.Len(t, token, len(plain)+1+len(name))
			got, ok := statecodec.Instance(token)
			require.True(t, ok)
			require.Equal(t, name, got)
			_, ok = statecodec.Issued(token)
			require.True(t, ok)
		}
	}
	for _, other := range []string{"", "x", strings.Repeat("A", 71), strings.Repeat("!", 200), "e30="} {
		_, ok := statecodec.Instance(other)
		require.False(t, ok, other)
	}
}

func TestInstanceIsAName(t *testing.T) {
	for _, name := range []string{" ", "a b", "a.b", "http://x", "a/b", "é", "a\n", "a=", strings.Repeat("x", 65)} {
		_, err := statecodec.New(&statecodec.Options{Ephemeral: true, Instance: name})
		var usage *statecodec.UsageError
		require.ErrorAs(t, err, &usage, name)
		require.ErrorAs(t, statecodec.CheckInstance(name), &usage, name)
	}
	require.Error(t, statecodec.CheckInstance(""))
	require.NoError(t, statecodec.CheckInstance("eu-2"))
}

// A token counts against the cap with its name.
func TestANameCountsForTheCap(t *testing.T) {
	opts := statecodec.Options{Ephemeral: true, Readable: true, MaxToken: 100}
	c, err := statecodec.New(&opts)
	require.NoError(t, err)
	_, err = c.Seal(fullBinding, make([]byte, 37)) // 28+50+22
	require.NoError(t, err)
	opts.Instance = "a"
	c, err = statecodec.New(&opts)
	require.NoError(t, err)
	_, err = c.Seal(fullBinding, make([]byte, 37))
	require.ErrorIs(t, err, statecodec.ErrTooLarge)
}

// FuzzInstance feeds arbitrary text: a name that is read is one that Options take, and
// stands in the text where SPEC.md puts it.
func FuzzInstance(f *testing.F) {
	for _, opts := range everySetting {
		f.Add(must(newCodec(f, opts).Seal(fullBinding, []byte("payload"))))
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		name, ok := statecodec.Instance(token)
		if !ok {
			require.Empty(t, name)
			return
		}
		require.NoError(t, errorOf(statecodec.New(&statecodec.Options{Ephemeral: true, Instance: name})))
		require.True(t, strings.HasPrefix(token[28:], string(alphabet[len(name)-1])+name))
	})
}

func errorOf[T any](_ T, err error) error { return err }

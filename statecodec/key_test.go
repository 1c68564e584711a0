package statecodec_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// A secret with every kind of base64 character, so that a wrong alphabet shows.
var secret = []byte("\xfb\xff\xfe>>>???secret bytes of a key to be hidden\xfb")

func TestAKeyIsReadFromEveryUsualText(t *testing.T) {
	for i := range 100 {
		secret := secret
		if i > 0 {
			secret = must(base64.RawURLEncoding.DecodeString(statecodec.GenerateKey().Text()))
		}
		mine := bytes.Clone(secret)
		key := must(statecodec.NewKey(mine))
		clear(mine) // NewKey took a copy
		for _, text := range []string{
			base64.StdEncoding.EncodeToString(secret), base64.RawStdEncoding.EncodeToString(secret),
			base64.URLEncoding.EncodeToString(secret), base64.RawURLEncoding.EncodeToString(secret),
			hex.EncodeToString(secret), strings.ToUpper(hex.EncodeToString(secret)),
			" \n" + base64.StdEncoding.EncodeToString(secret) + "\r\n", key.Text(),
		} {
			read, err := statecodec.ParseKey(text)
			require.NoError(t, err, text)
			require.Equal(t, key.ID(), read.ID())
			require.Equal(t, base64.RawURLEncoding.EncodeToString(secret), read.Text())
		}
	}
}

func TestAnythingElseIsNoKey(t *testing.T) {
	good, hexKey := base64.StdEncoding.EncodeToString(secret), hex.EncodeToString(secret)
	stepping := func(step int) string {
		b := make([]byte, 32)
		for i := range b {
			b[i] = byte(7 + i*step)
		}
		return hex.EncodeToString(b)
	}
	for _, text := range []string{
		"", "correct horse battery staple, correct horse",
		// Base64 that no encoder writes.
		strings.Replace(good, "+", "-", 1), good[:20] + "\n" + good[20:], good + "=", strings.Repeat("A", 42) + "B",
		// Short, or hexadecimal with a digit too few, too many or mistyped.
		hex.EncodeToString(secret[:31]), base64.StdEncoding.EncodeToString(secret[:31]),
		hexKey[1:], hexKey + "0", hexKey[:20] + "O" + hexKey[21:], "0x" + hexKey, hexKey[:32] + "/" + hexKey[32:63],
		// Bytes that nobody drew at random: few different ones, a piece twice, counted up or down.
		stepping(0), stepping(1), stepping(-3), hex.EncodeToString([]byte("abcdefgfedcbabcdeffgacebdfbcadgf")),
		hex.EncodeToString(bytes.Repeat(secret[:16], 2)), hex.EncodeToString(append(bytes.Repeat(secret[:12], 2), secret[:11]...)),
	} {
		key, err := statecodec.ParseKey(text)
		requireUsage(t, err, "key")
		require.Empty(t, key.Text(), text)
		require.False(t, text != "" && strings.Contains(err.Error(), text), text)
	}
	for size := range len(secret) {
		_, err := statecodec.NewKey(secret[:size])
		require.Equal(t, size < statecodec.MinSecret, err != nil, "%d bytes", size)
	}
}

func TestKeysFromEnv(t *testing.T) {
	a, b := statecodec.GenerateKey(), statecodec.GenerateKey()
	for _, separator := range []string{",", " ", "\n", " ,\t,"} {
		t.Setenv("STATE_KEYS", a.Text()+separator+b.Text()+separator)
		keys := must(statecodec.KeysFromEnv("STATE_KEYS"))
		require.Equal(t, []statecodec.KeyID{a.ID(), b.ID()}, []statecodec.KeyID{keys[0].ID(), keys[1].ID()}, "the first one seals")
	}
	for _, value := range []string{"", " , ,", "c2hvcnQ", a.Text() + ",c2hvcnQ"} {
		t.Setenv("STATE_KEYS", value)
		_, err := statecodec.KeysFromEnv("STATE_KEYS")
		requireUsage(t, err, "STATE_KEYS")
		require.NotContains(t, err.Error(), "c2hvcnQ")
		require.NotContains(t, err.Error(), a.Text())
		require.Equal(t, 1, strings.Count(err.Error(), "statecodec: "))
	}
}

// However a key, or something that holds one, is printed, neither the secret
// nor anything derived from it but the id appears.
func TestSecretsNeverPrint(t *testing.T) {
	key := must(statecodec.NewKey(secret))
	ring := must(statecodec.NewKeyring(key))
	opts := statecodec.Options{Keys: []statecodec.Key{key}}
	codec := must(statecodec.New(&opts))
	derived := specDerive(secret, "", 0, "", "")
	require.Equal(t, "statecodec.Key(none)", fmt.Sprint(statecodec.Key{}))
	for name, v := range map[string]any{
		"Key": key, "*Key": &key, "map": map[string]statecodec.Key{"k": key}, "Options": opts, "*Codec": codec, "Codec": *codec, "Keyring": ring,
		"unexported fields": struct {
			key   statecodec.Key
			codec statecodec.Codec
			opts  *statecodec.Options
		}{key, *codec, &opts},
	} {
		var printed bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%p", "%t"} {
			fmt.Fprintf(&printed, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&printed, nil)).Info("m", "v", v, slog.Group("g", "v", v))
		slog.New(slog.NewJSONHandler(&printed, nil)).Info("m", "v", v, slog.Group("g", "v", v))
		_ = json.NewEncoder(&printed).Encode(v)
		for _, hidden := range [][]byte{secret, derived.prk, derived.mac, derived.cipher} {
			for _, way := range []string{"%s", "%x", "%d", "%#v", "%o", "%b"} {
				form := strings.Trim(fmt.Sprintf(way, hidden[9:21]), "[]byte{}")
				require.NotContains(t, strings.ToLower(printed.String()), strings.ToLower(form), name)
			}
			require.NotContains(t, printed.String(), base64.StdEncoding.EncodeToString(hidden[9:21]), name)
		}
		if _, held := v.(fmt.Formatter); held {
			require.GreaterOrEqual(t, strings.Count(printed.String(), key.ID().String()), 17, "the id tells keys apart in a log")
		}
	}
}

func TestOptionsThatCannotBeMet(t *testing.T) {
	a, b := testKey(1), testKey(2)
	one, ring := []statecodec.Key{a}, must(statecodec.NewKeyring(a))
	for says, opts := range map[string]*statecodec.Options{
		"Options.Keys is empty":                               nil,
		"Options.Keys: key 2 is the zero Key":                 {Keys: []statecodec.Key{a, {}}},
		"Options.Keys: keys 1 and 3 have the same id":         {Keys: []statecodec.Key{a, b, a}},
		"Options.Ephemeral makes its own key":                 {Keys: one, Ephemeral: true},
		"Options.Keyring is empty":                            {Keyring: &statecodec.Keyring{}},
		"Options.Keyring is in place of Keys":                 {Keyring: ring, Keys: one},
		"Options.TTL must be at least 1ms, not 999":           {Keys: one, TTL: 999_999},
		"Options.Skew must be between 0 and 5m0s, not -":      {Keys: one, Skew: -1},
		"Options.Skew must be between 0 and 5m0s, not 5":      {Keys: one, Skew: statecodec.MaxSkew + 1},
		"Options.MaxToken must be between 76 and":             {Keys: one, MaxToken: 75, Instance: "abc"},
		"Options.MaxToken must be between 72 and 16777216, n": {Keys: one, MaxToken: statecodec.MaxMaxToken + 1},
	} {
		_, err := statecodec.New(opts)
		requireUsage(t, err, "statecodec: "+says)
	}
	_, err := newCodec(statecodec.Options{}).Lasting(0)
	requireUsage(t, err, "Lasting")
	c := newCodec(statecodec.Options{MaxToken: 72, Skew: statecodec.MaxSkew, TTL: 1<<63 - 1})
	requireOpens(t, c, must(c.Seal(fullBinding, nil)), "the extremes that are allowed work")
	require.False(t, c.Ephemeral())
	require.Equal(t, statecodec.MaxSkew, c.Skew())
	other := statecodec.NewEphemeral().For("x")
	require.True(t, other.Ephemeral())
	_, err = statecodec.NewEphemeral().For("x").Open(fullBinding, must(other.Seal(fullBinding, nil)))
	requireRefused(t, statecodec.ReasonUnknownKey, err)
}

// Codecs follow their ring, those that were derived too, and bad keys leave it as it was.
func TestARingIsReplaced(t *testing.T) {
	ring := must(statecodec.NewKeyring(testKey(1)))
	c := must(newCodec(statecodec.Options{Keyring: ring}).For("a purpose").Lasting(statecodec.DefaultTTL))
	first := must(c.Seal(fullBinding, nil))
	require.NoError(t, ring.Replace(testKey(2)))
	_, err := c.Open(fullBinding, first)
	requireRefused(t, statecodec.ReasonUnknownKey, err, "the old key is gone")
	require.Error(t, ring.Replace(testKey(1), statecodec.Key{}))
	requireOpens(t, c, must(newCodec(statecodec.Options{Keys: []statecodec.Key{testKey(2)}}).For("a purpose").Seal(fullBinding, nil)))
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

package statecodec_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// A secret with every kind of base64 character, so that a wrong alphabet shows.
var secret = []byte("\xfb\xff\xfe>>>???secret bytes of a key to be hidden\xfb")

func requireUsage(t testing.TB, err error, contains string) {
	t.Helper()
	var usage *statecodec.UsageError
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, contains)
}

func TestShortKeysAreRefused(t *testing.T) {
	for size := range statecodec.MinSecret {
		_, err := statecodec.NewKey(make([]byte, size))
		requireUsage(t, err, "at least 32 bytes")
	}
	_, err := statecodec.NewKey(secret[:statecodec.MinSecret])
	require.NoError(t, err)
}

func TestAKeyOfOneByteRepeatedIsRefused(t *testing.T) {
	for b := range 256 {
		for _, size := range []int{statecodec.MinSecret, 64} {
			_, err := statecodec.NewKey(bytes.Repeat([]byte{byte(b)}, size))
			requireUsage(t, err, "random bytes")
		}
	}
}

func TestNewKeyCopiesTheSecret(t *testing.T) {
	mine := bytes.Clone(secret)
	key, err := statecodec.NewKey(mine)
	require.NoError(t, err)
	clear(mine)
	again, err := statecodec.ParseKey(key.Text())
	require.NoError(t, err)
	require.Equal(t, must(statecodec.NewKey(secret)).ID(), again.ID())
}

func TestParseKeyReadsEveryUsualText(t *testing.T) {
	want := must(statecodec.NewKey(secret))
	for name, text := range map[string]string{
		"standard":           base64.StdEncoding.EncodeToString(secret),
		"standard, unpadded": base64.RawStdEncoding.EncodeToString(secret),
		"URL":                base64.URLEncoding.EncodeToString(secret),
		"URL, unpadded":      base64.RawURLEncoding.EncodeToString(secret),
		"hex":                hex.EncodeToString(secret),
		"upper-case hex":     strings.ToUpper(hex.EncodeToString(secret)),
		"with space around":  " \n" + base64.StdEncoding.EncodeToString(secret) + "\r\n",
		"its own text":       want.Text(),
	} {
		key, err := statecodec.ParseKey(text)
		require.NoError(t, err, name)
		require.Equal(t, want.Text(), key.Text(), name)
	}
}

func TestParseKeyRefusesAnythingElse(t *testing.T) {
	good, hexKey := base64.StdEncoding.EncodeToString(secret), hex.EncodeToString(secret)
	for name, text := range map[string]string{
		"nothing":             "",
		"a password":          "correct horse battery staple, correct horse",
		"both alphabets":      strings.Replace(good, "+", "-", 1),
		"a line break inside": good[:20] + "\n" + good[20:],
		"too much padding":    good + "=",
		"unused bits set":     strings.Repeat("A", 42) + "B",
		"short hex":           hex.EncodeToString(secret[:31]),
		"short base64":        base64.StdEncoding.EncodeToString(secret[:31]),

		"hex, a digit short":    hexKey[1:],
		"hex, a digit too many": hexKey + "0",
		"hex, a digit mistyped": hexKey[:20] + "O" + hexKey[21:],
		"hex, with a prefix":    "0x" + hexKey,
		"hex, in two pieces":    hexKey[:32] + "/" + hexKey[32:63],

		"zeros":           hex.EncodeToString(make([]byte, 32)),
		"zeros in base64": base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"one byte":        hex.EncodeToString(bytes.Repeat([]byte{0xc3}, 40)),
		"seven bytes":     hex.EncodeToString([]byte("abcdefgfedcbabcdeffgacebdfbcadgf")),
		"a piece twice":   hex.EncodeToString(bytes.Repeat(secret[:16], 2)),
		"a piece, cut":    hex.EncodeToString(append(bytes.Repeat(secret[:12], 2), secret[:11]...)),
		"counting up":     hex.EncodeToString(stepping(1)),
		"counting down":   hex.EncodeToString(stepping(-3)),
	} {
		key, err := statecodec.ParseKey(text)
		requireUsage(t, err, "key")
		require.Empty(t, key.Text(), name)
		if text != "" {
			require.NotContains(t, err.Error(), text, name)
		}
	}
}

func stepping(step int) []byte {
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(7 + i*step)
	}
	return b
}

// No key that was drawn at random is refused, in any spelling.
func TestParseKeyReadsRandomKeys(t *testing.T) {
	for range 2000 {
		want := statecodec.GenerateKey()
		raw, err := base64.RawURLEncoding.DecodeString(want.Text())
		require.NoError(t, err)
		for _, text := range []string{want.Text(), base64.StdEncoding.EncodeToString(raw), hex.EncodeToString(raw)} {
			key, err := statecodec.ParseKey(text)
			require.NoError(t, err)
			require.Equal(t, want.ID(), key.ID())
		}
	}
}

func TestGeneratedKeysDiffer(t *testing.T) {
	a, b := statecodec.GenerateKey(), statecodec.GenerateKey()
	require.NotEqual(t, a.Text(), b.Text())
	again, err := statecodec.ParseKey(a.Text())
	require.NoError(t, err)
	require.Equal(t, a.ID(), again.ID())
}

func TestKeysFromEnv(t *testing.T) {
	a, b := statecodec.GenerateKey(), statecodec.GenerateKey()
	for _, separator := range []string{",", " ", ", ", "\n", " ,\t,"} {
		t.Setenv("STATE_KEYS", a.Text()+separator+b.Text()+separator)
		keys, err := statecodec.KeysFromEnv("STATE_KEYS")
		require.NoError(t, err)
		require.Len(t, keys, 2)
		require.Equal(t, a.ID(), keys[0].ID(), "the first one seals")
		require.Equal(t, b.ID(), keys[1].ID())
	}
	for name, value := range map[string]string{"empty": "", "separators": " , ,", "too short": "c2hvcnQ", "one of two": a.Text() + ",c2hvcnQ"} {
		t.Setenv("STATE_KEYS", value)
		_, err := statecodec.KeysFromEnv("STATE_KEYS")
		requireUsage(t, err, "STATE_KEYS")
		require.Equal(t, 1, strings.Count(err.Error(), "statecodec: "), err.Error())
		require.NotContains(t, err.Error(), "c2hvcnQ", name)
		require.NotContains(t, err.Error(), a.Text(), name)
	}
	_, err := statecodec.KeysFromEnv("STATE_KEYS_THAT_NOBODY_SET")
	requireUsage(t, err, "STATE_KEYS_THAT_NOBODY_SET")
}

func TestZeroKey(t *testing.T) {
	var key statecodec.Key
	require.Equal(t, statecodec.KeyID{}, key.ID())
	require.Empty(t, key.Text())
	require.Equal(t, "statecodec.Key(none)", fmt.Sprint(key))
}

// However a key, or something that holds one, is printed, neither the secret
// nor anything derived from it but the id appears.
func TestSecretsNeverPrint(t *testing.T) {
	key := must(statecodec.NewKey(secret))
	opts := statecodec.Options{Keys: []statecodec.Key{key}}
	codec := must(statecodec.New(&opts))
	derived := specDerive(secret, "", 0, "", "")
	values := map[string]any{
		"Key": key, "*Key": &key, "[]Key": opts.Keys, "map": map[string]statecodec.Key{"k": key},
		"Options": opts, "*Options": &opts, "*Codec": codec, "Codec": *codec,
		"unexported field": struct{ key statecodec.Key }{key},
		"unexported codec": struct{ codec *statecodec.Codec }{codec},
		"codec by value":   struct{ codec statecodec.Codec }{*codec},
		"Options inside":   struct{ opts *statecodec.Options }{&opts},
		"exported field":   struct{ Key statecodec.Key }{key},
	}
	for name, v := range values {
		var printed []string
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%p", "%t"} {
			printed = append(printed, fmt.Sprintf(verb, v))
		}
		var text, js bytes.Buffer
		slog.New(slog.NewTextHandler(&text, nil)).Info("m", "v", v, slog.Group("g", "v", v))
		slog.New(slog.NewJSONHandler(&js, nil)).Info("m", "v", v, slog.Group("g", "v", v))
		printed = append(printed, text.String(), js.String())
		if data, err := json.Marshal(v); err == nil {
			printed = append(printed, string(data))
		}
		for _, s := range printed {
			for _, hidden := range [][]byte{secret, derived.prk, derived.mac, derived.cipher} {
				for _, form := range spellings(hidden) {
					require.NotContains(t, strings.ToLower(s), strings.ToLower(form), name)
				}
			}
		}
		require.Len(t, printed, 17, "%s was not printed every way", name)
	}
	require.Contains(t, fmt.Sprintf("%#v", key), key.ID().String(), "the id tells keys apart in a log")
	require.Contains(t, fmt.Sprintf("%+v", codec), key.ID().String())
}

// spellings are pieces of the secret as the ways of printing would show it.
func spellings(secret []byte) []string {
	piece := secret[9:21]
	return []string{
		string(piece), hex.EncodeToString(piece), base64.StdEncoding.EncodeToString(piece),
		strings.Trim(fmt.Sprint(piece), "[]"), strings.Trim(fmt.Sprintf("%#v", piece), "[]byte{}"),
		strings.Trim(fmt.Sprintf("%o", piece), "[]"), strings.Trim(fmt.Sprintf("%b", piece), "[]"),
	}
}

func TestOptionsThatCannotBeMet(t *testing.T) {
	a, b := testKey(1), testKey(2)
	for name, tc := range map[string]struct {
		opts *statecodec.Options
		says string
	}{
		"nil":                  {nil, "Keys is empty"},
		"no keys":              {&statecodec.Options{}, "Keys is empty"},
		"zero key":             {&statecodec.Options{Keys: []statecodec.Key{a, {}}}, "key 2 is the zero Key"},
		"twice the same":       {&statecodec.Options{Keys: []statecodec.Key{a, b, a}}, "keys 1 and 3 have the same id"},
		"ephemeral, with keys": {&statecodec.Options{Keys: []statecodec.Key{a}, Ephemeral: true}, "Ephemeral"},
		"negative TTL":         {&statecodec.Options{Keys: []statecodec.Key{a}, TTL: -1}, "TTL"},
		"TTL under the clock":  {&statecodec.Options{Keys: []statecodec.Key{a}, TTL: 1}, "TTL"},
		"negative skew":        {&statecodec.Options{Keys: []statecodec.Key{a}, Skew: -1}, "Skew"},
		"boundless skew":       {&statecodec.Options{Keys: []statecodec.Key{a}, Skew: statecodec.MaxSkew + 1}, "Skew"},
		"negative MaxToken":    {&statecodec.Options{Keys: []statecodec.Key{a}, MaxToken: -1}, "MaxToken"},
		"useless MaxToken":     {&statecodec.Options{Keys: []statecodec.Key{a}, MaxToken: 71}, "MaxToken"},
		"boundless MaxToken":   {&statecodec.Options{Keys: []statecodec.Key{a}, MaxToken: statecodec.MaxMaxToken + 1}, "MaxToken"},
	} {
		_, err := statecodec.New(tc.opts)
		require.Error(t, err, name)
		requireUsage(t, err, tc.says)
	}
	c, err := statecodec.New(&statecodec.Options{Keys: []statecodec.Key{a}, MaxToken: 72, Skew: statecodec.MaxSkew, TTL: 1<<63 - 1})
	require.NoError(t, err)
	token, err := c.Seal(fullBinding, nil)
	require.NoError(t, err, "the extremes that are allowed work")
	requireOpens(t, c, token)
}

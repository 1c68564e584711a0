package statecodec_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// vector is one of testdata's: header lines, an empty line, the token. SPEC.md describes the
// format.
type vector struct {
	header map[string]string
	keys   []statecodec.Key
	token  string
}

func parseVector(t testing.TB, data string) vector {
	t.Helper()
	head, token, found := strings.Cut(data, "\n\n")
	require.True(t, found, data)
	v := vector{header: map[string]string{}, token: token}
	for line := range strings.SplitSeq(head, "\n") {
		name, value, _ := strings.Cut(line, ":")
		require.Contains(t, "comment expect key purpose time skew max-token method target principal audience session arguments payload", name)
		v.header[name] = strings.TrimPrefix(value, " ")
		if name == "key" {
			v.keys = append(v.keys, must(statecodec.NewKey(must(hex.DecodeString(v.header[name])))))
		}
	}
	return v
}

// codec opens at the time of the vector, in a bubble.
func (v vector) codec() *statecodec.Codec {
	time.Sleep(time.Until(must(time.Parse(time.RFC3339Nano, v.header["time"]))))
	skew, most := must(time.ParseDuration(v.header["skew"])), must(strconv.Atoi(v.header["max-token"]))
	return newCodec(statecodec.Options{Keys: v.keys, Skew: skew, MaxToken: most}).For(v.header["purpose"])
}

func (v vector) binding() statecodec.Binding {
	return statecodec.Binding{
		Method: v.header["method"], Target: v.header["target"], Arguments: []byte(v.header["arguments"]),
		Principal: v.header["principal"], Audience: v.header["audience"], Session: v.header["session"],
	}
}

// readVectors reads the archives of testdata.
func readVectors(t testing.TB) map[string]vector {
	t.Helper()
	vectors := map[string]vector{}
	for _, file := range []string{"opened", "refused"} {
		text := string(must(os.ReadFile("testdata/" + file + ".txt")))
		for section := range strings.SplitSeq("\n"+strings.TrimSuffix(text, "\n"), "\n-- ") {
			if name, data, found := strings.Cut(section, " --\n"); found {
				v := parseVector(t, data)
				require.Equal(t, file == "opened", v.header["expect"] == "opened", name)
				vectors[file+", "+name] = v
			}
		}
	}
	require.NotEmpty(t, vectors)
	return vectors
}

// TestVectors opens every vector. One that opens is sealed anew, with the nonce and at the
// time of its token: sealing is as fixed as opening.
func TestVectors(t *testing.T) {
	for name, v := range readVectors(t) {
		synctest.Test(t, func(t *testing.T) {
			payload, err := v.codec().Open(v.binding(), v.token)
			if v.header["expect"] != "opened" {
				requireRefused(t, statecodec.Reason(v.header["expect"]), err, name)
				return
			}
			require.NoError(t, err, name)
			require.Equal(t, v.header["payload"], hex.EncodeToString(payload), name)
		})
		if v.header["expect"] == "opened" {
			synctest.Test(t, func(t *testing.T) { requireSeals(t, v, name) })
		}
	}
}

func requireSeals(t *testing.T, v vector, name string) {
	t.Helper()
	header, ok := specBase64(v.token[:28])
	require.True(t, ok, name)
	issued, ok := statecodec.Issued(v.token)
	require.True(t, ok, name)
	named := 0
	opts := statecodec.Options{
		TTL: specMillis(header[15:21]).Sub(issued), MaxToken: must(strconv.Atoi(v.header["max-token"])),
		Readable: header[1]&1 != 0, PerPrincipal: header[1]&2 != 0, PerSession: header[1]&4 != 0,
	}
	if opts.Instance, ok = statecodec.Instance(v.token); ok {
		named = 1 + len(opts.Instance)
	}
	for _, key := range v.keys {
		if key.ID() == statecodec.KeyID(header[2:6]) {
			opts.Keys = []statecodec.Key{key}
		}
	}
	if body, ok := specBase64(v.token[28+named : len(v.token)-22]); ok && !opts.Readable {
		useRandom(t, bytes.NewReader(body[:16]))
	}
	time.Sleep(time.Until(issued))
	token, err := newCodec(opts).For(v.header["purpose"]).Seal(v.binding(), must(hex.DecodeString(v.header["payload"])))
	require.NoError(t, err, name)
	require.Equal(t, v.token, token, name)
}

// What SPEC.md says of keys, bound messages and canonical arguments, written from that page
// with nothing of the package's. It favours being plainly right: HKDF by hand, numbers as
// text, JSON by the standard library. lab/interop has an opener of the same page.

type specKeys struct{ prk, mac, cipher []byte }

func specHMAC(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

func specField(s string) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(s))), s...)
}

func specDerive(secret []byte, purpose string, flags byte, principal, session string) specKeys {
	prk := specHMAC([]byte("mrtr statecodec v1"), secret)
	info := append([]byte("token"), flags&6)
	info = append(info, specField(purpose)...)
	if flags&2 != 0 {
		info = append(info, specField(principal)...)
	}
	if flags&4 != 0 {
		info = append(info, specField(session)...)
	}
	first := specHMAC(prk, info, []byte{1})
	return specKeys{prk, first, specHMAC(prk, first, info, []byte{2})}
}

func specMessage(b statecodec.Binding, canonical []byte, text string) (m []byte) {
	for _, field := range []string{b.Method, b.Target, b.Principal, b.Audience, b.Session} {
		m = append(m, specField(field)...)
	}
	return slices.Concat(m, canonical, []byte{0}, []byte(text))
}

func specMillis(b []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(append([]byte{0, 0}, b...))))
}

// specBase64 accepts the one encoding there is, by making it again.
func specBase64(text string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return raw, err == nil && base64.RawURLEncoding.EncodeToString(raw) == text
}

var errSpec = errors.New("no canonical form")

// specCanonical is the canonical form of one JSON text.
func specCanonical(raw []byte) (out []byte, err error) {
	if !json.Valid(raw) || !utf8.Valid(raw) || specHalfSurrogate(raw) {
		return nil, errSpec
	}
	defer func() {
		if recover() != nil {
			out, err = nil, errSpec
		}
	}()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return specValue(d, 0), nil
}

var (
	surrogates    = regexp.MustCompile(`(?i)\\ud[89ab]..\\ud[c-f]..`)
	halfSurrogate = regexp.MustCompile(`(?i)\\ud[89a-f]..`)
)

// specHalfSurrogate finds \u escapes that pair up with nothing. No escaped backslash may
// begin one.
func specHalfSurrogate(raw []byte) bool {
	text := strings.ReplaceAll(string(raw), `\\`, "x")
	return halfSurrogate.MatchString(surrogates.ReplaceAllString(text, ""))
}

// specValue panics if there is no canonical form.
func specValue(d *json.Decoder, depth int) []byte {
	switch v := must(d.Token()).(type) {
	case json.Delim:
		if depth++; depth > 128 {
			panic(errSpec)
		}
		if v == '{' {
			return specObject(d, depth)
		}
		var items [][]byte
		for d.More() {
			items = append(items, specValue(d, depth))
		}
		must(d.Token())
		return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
	case string:
		return specString(v)
	case json.Number:
		return specNumber(string(v))
	default:
		return must(json.Marshal(v))
	}
}

func specObject(d *json.Decoder, depth int) []byte {
	members := map[string][]byte{}
	for d.More() {
		name := specString(must(d.Token()).(string))
		inner := string(name[1 : len(name)-1])
		for other := range members {
			if strings.EqualFold(other, inner) {
				panic(errSpec)
			}
		}
		members[inner] = slices.Concat(name, []byte(":"), specValue(d, depth))
	}
	must(d.Token())
	var parts [][]byte
	for _, name := range slices.Sorted(maps.Keys(members)) {
		parts = append(parts, members[name])
	}
	return slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}"))
}

func specString(s string) []byte {
	out := []byte{'"'}
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			out = append(out, '\\', b)
		case b < 0x20:
			out = append(out, []byte(`\u00`+string("0123456789abcdef"[b>>4])+string("0123456789abcdef"[b&15]))...)
		default:
			out = append(out, b)
		}
	}
	return append(out, '"')
}

func specNumber(s string) []byte {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	mantissa, exponentText, hasExponent := strings.Cut(strings.ToLower(s), "e")
	exponent := new(big.Int)
	if hasExponent {
		exponent.SetString(strings.TrimPrefix(exponentText, "+"), 10)
		specExponent(exponent)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	exponent.Sub(exponent, big.NewInt(int64(len(fraction))))
	trimmed := strings.TrimRight(digits, "0")
	exponent.Add(exponent, big.NewInt(int64(len(digits)-len(trimmed))))
	trimmed = strings.TrimLeft(trimmed, "0")
	switch {
	case trimmed == "":
		return []byte("0")
	case exponent.Sign() == 0:
		return []byte(sign + trimmed)
	}
	specExponent(exponent)
	return []byte(sign + trimmed + "e" + exponent.String())
}

func specExponent(e *big.Int) {
	if len(new(big.Int).Abs(e).String()) > 9 {
		panic(errSpec)
	}
}

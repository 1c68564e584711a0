package statecodec_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// vector is one of testdata's: a line with its name, header lines, an empty line, the
// token. SPEC.md describes the format.
type vector struct {
	comment  string
	expect   string // "opened", or the reason of the refusal
	keys     [][]byte
	purpose  string
	time     time.Time
	skew     time.Duration
	maxToken int
	binding  statecodec.Binding
	payload  []byte
	token    string
}

func parseVector(data string) (v vector, err error) {
	head, token, found := strings.Cut(data, "\n\n")
	if !found {
		return v, errors.New("want header lines, an empty line and a token")
	}
	v.token = token
	texts := map[string]*string{
		"comment": &v.comment, "expect": &v.expect, "purpose": &v.purpose, "method": &v.binding.Method, "target": &v.binding.Target,
		"principal": &v.binding.Principal, "audience": &v.binding.Audience, "session": &v.binding.Session,
	}
	for line := range strings.SplitSeq(head, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "key":
			key, bad := hex.DecodeString(value)
			v.keys, err = append(v.keys, key), bad
		case "time":
			v.time, err = time.Parse(time.RFC3339Nano, value)
		case "skew":
			v.skew, err = time.ParseDuration(value)
		case "max-token":
			v.maxToken, err = strconv.Atoi(value)
		case "arguments":
			v.binding.Arguments = []byte(value)
		case "payload":
			v.payload, err = hex.DecodeString(value)
		default:
			text, ok := texts[name]
			if !ok {
				return v, fmt.Errorf("unknown header %q", name)
			}
			*text = value
		}
		if err != nil {
			return v, fmt.Errorf("header %q: %w", name, err)
		}
	}
	return v, nil
}

// readVectors reads the archives of testdata.
func readVectors(t testing.TB) map[string]vector {
	t.Helper()
	vectors := map[string]vector{}
	for _, file := range []string{"opened", "refused"} {
		text, err := os.ReadFile("testdata/" + file + ".txt")
		require.NoError(t, err)
		for section := range strings.SplitSeq("\n"+strings.TrimSuffix(string(text), "\n"), "\n-- ") {
			if name, data, found := strings.Cut(section, " --\n"); found {
				v, err := parseVector(data)
				require.NoError(t, err, name)
				require.Equal(t, file == "opened", v.expect == "opened", name)
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
	for file, v := range readVectors(t) {
		synctest.Test(t, func(t *testing.T) {
			var keys []statecodec.Key
			for _, secret := range v.keys {
				keys = append(keys, must(statecodec.NewKey(secret)))
			}
			time.Sleep(time.Until(v.time))
			c := newCodec(statecodec.Options{Keys: keys, Skew: v.skew, MaxToken: v.maxToken}).For(v.purpose)
			payload, err := c.Open(v.binding, v.token)
			if v.expect != "opened" {
				requireRefused(t, statecodec.Reason(v.expect), err, file)
				return
			}
			require.NoError(t, err, file)
			require.Equal(t, hex.EncodeToString(v.payload), hex.EncodeToString(payload), file)
		})
		if v.expect == "opened" {
			synctest.Test(t, func(t *testing.T) { requireSeals(t, v, file) })
		}
	}
}

func requireSeals(t *testing.T, v vector, file string) {
	t.Helper()
	header, ok := specBase64(v.token[:28])
	require.True(t, ok, file)
	issued, ok := statecodec.Issued(v.token)
	require.True(t, ok, file)
	named := 0
	opts := statecodec.Options{
		TTL: specMillis(header[15:21]).Sub(issued), MaxToken: v.maxToken,
		Readable: header[1]&1 != 0, PerPrincipal: header[1]&2 != 0, PerSession: header[1]&4 != 0,
	}
	if opts.Instance, ok = statecodec.Instance(v.token); ok {
		named = 1 + len(opts.Instance)
	}
	for _, secret := range v.keys {
		if key := must(statecodec.NewKey(secret)); key.ID() == statecodec.KeyID(header[2:6]) {
			opts.Keys = []statecodec.Key{key}
		}
	}
	if body, ok := specBase64(v.token[28+named : len(v.token)-22]); ok && !opts.Readable {
		useRandom(t, bytes.NewReader(body[:16]))
	}
	time.Sleep(time.Until(issued))
	token, err := newCodec(opts).For(v.purpose).Seal(v.binding, v.payload)
	require.NoError(t, err, file)
	require.Equal(t, v.token, token, file)
}

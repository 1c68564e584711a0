package statecodec_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

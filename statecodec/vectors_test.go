package statecodec_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
)

// vector is one file of testdata: header lines, an empty line, the token. SPEC.md
// describes the format.
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

func (v *vector) text() []byte {
	var b bytes.Buffer
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("comment", v.comment)
	line("expect", v.expect)
	for _, key := range v.keys {
		line("key", hex.EncodeToString(key))
	}
	line("purpose", v.purpose)
	line("time", v.time.UTC().Format(time.RFC3339Nano))
	line("skew", v.skew.String())
	line("max-token", strconv.Itoa(v.maxToken))
	line("method", v.binding.Method)
	line("target", v.binding.Target)
	line("arguments", string(v.binding.Arguments))
	line("principal", v.binding.Principal)
	line("audience", v.binding.Audience)
	line("session", v.binding.Session)
	line("payload", hex.EncodeToString(v.payload))
	fmt.Fprintf(&b, "\n%s\n", v.token)
	return b.Bytes()
}

func parseVector(data string) (v vector, err error) {
	head, token, found := strings.Cut(data, "\n\n")
	if !found || !strings.HasSuffix(token, "\n") {
		return v, fmt.Errorf("want header lines, an empty line, a token and a line feed")
	}
	v.token = strings.TrimSuffix(token, "\n")
	for line := range strings.SplitSeq(head, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "comment":
			v.comment = value
		case "expect":
			v.expect = value
		case "key":
			key, bad := hex.DecodeString(value)
			v.keys, err = append(v.keys, key), bad
		case "purpose":
			v.purpose = value
		case "time":
			v.time, err = time.Parse(time.RFC3339Nano, value)
		case "skew":
			v.skew, err = time.ParseDuration(value)
		case "max-token":
			v.maxToken, err = strconv.Atoi(value)
		case "method":
			v.binding.Method = value
		case "target":
			v.binding.Target = value
		case "arguments":
			v.binding.Arguments = []byte(value)
		case "principal":
			v.binding.Principal = value
		case "audience":
			v.binding.Audience = value
		case "session":
			v.binding.Session = value
		case "payload":
			v.payload, err = hex.DecodeString(value)
		default:
			return v, fmt.Errorf("unknown header %q", name)
		}
		if err != nil {
			return v, fmt.Errorf("header %q: %w", name, err)
		}
	}
	return v, nil
}

func eachVector(t *testing.T, f func(t *testing.T, v vector)) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	opened, refused := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		v, err := parseVector(string(data))
		require.NoError(t, err, file)
		if v.expect == "opened" {
			opened++
		} else {
			refused++
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { f(t, v) })
	}
	require.NotZero(t, opened, "no vector that opens")
	require.NotZero(t, refused, "no vector that is refused")
}

func TestVectors(t *testing.T) {
	eachVector(t, func(t *testing.T, v vector) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(v.time))
			var keys []statecodec.Key
			for _, secret := range v.keys {
				keys = append(keys, must(statecodec.NewKey(secret)))
			}
			c := newCodec(t, statecodec.Options{Keys: keys, Skew: v.skew, MaxToken: v.maxToken}).For(v.purpose)
			payload, err := c.Open(v.binding, v.token)
			if v.expect == "opened" {
				require.NoError(t, err, v.comment)
				require.Equal(t, hex.EncodeToString(v.payload), hex.EncodeToString(payload), v.comment)
				return
			}
			requireRefused(t, statecodec.Reason(v.expect), err, v.comment)
		})
	})
}

// The opener in spec_test.go knows SPEC.md and not the package. If the two
// disagree on a vector, one of SPEC.md and the package is wrong.
func TestSpecOpensTheVectors(t *testing.T) {
	eachVector(t, func(t *testing.T, v vector) {
		opener := specOpener{secrets: v.keys, purpose: v.purpose, now: v.time, skew: v.skew, maxToken: v.maxToken}
		payload, reason := opener.open(v.binding, v.token)
		if v.expect == "opened" {
			require.Empty(t, reason, v.comment)
			require.Equal(t, hex.EncodeToString(v.payload), hex.EncodeToString(payload), v.comment)
			return
		}
		require.Equal(t, v.expect, string(reason), v.comment)
	})
}

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

func TestEffectsNeedAWhere(t *testing.T) {
	for _, where := range []string{"command:", "command: ", "tool:", "stderr:(", "nonsense"} {
		_, err := counter(where, prove.Subject{}, newLines())
		require.Error(t, err, where)
	}
}

// A server that never stops writing does not fill the memory of its judge.
func TestCountingAHostileServerIsBounded(t *testing.T) {
	l := newLines()
	l.pattern = regexp.MustCompile("effect (.*)")
	for i := range 2 * maxEffects {
		fmt.Fprintf(l, "effect %d\neffect %s\n", i, bytes.Repeat([]byte("x"), maxName+1))
	}
	fmt.Fprintln(l, "effect 0")
	require.Len(t, l.counts, maxEffects)
	require.Equal(t, 2, l.counts["0"])

	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		piece := []byte(strings.Repeat(" ", 1<<20))
		for range 512 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	count, err := counter("tool:count", prove.Subject{Dial: prove.HTTP(endless.URL, nil)}, nil)
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = count(t.Context())
	runtime.ReadMemStats(&after)
	require.Error(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadCallgrind(t *testing.T) {
	const counted = `# callgrind format
version: 1
positions: line
events: Ir
summary: 1111

fl=(1) a.go
fn=(1) main.work
10 100
+2 5
cfn=(2) crypto/internal/fips140/sha256.blockAVX2.abi0
calls=3 7
12 1000
jump=3 12
* 5
fl=(2) sha.s
fn=(2)
7 900
-1 100
fn=(1)
3 1
totals: 1111
`
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "callgrind.out")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	all, sha, err := readCallgrind(write(counted))
	require.NoError(t, err)
	require.Equal(t, 1111.0, all, "what a callee took is counted once, at the callee")
	require.Equal(t, 1000.0, sha)

	_, _, err = readCallgrind(write("fn=(1) a\n10 100\ntotals: 99\n"))
	require.ErrorContains(t, err, "add up to 100")
	_, _, err = readCallgrind(write("fn=(1) a\n10 100\n"))
	require.ErrorContains(t, err, "ends before its total")
}

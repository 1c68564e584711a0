package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithoutSHA(t *testing.T) {
	cost, err := withoutSHA(`Ir
1,001,111  PROGRAM TOTALS

Ir         file:function
1,000,000  sha256block_amd64.s:crypto/internal/fips140/sha256.blockAVX2.abi0 [subject]
    1,000  work.go:main.work [subject]
       11  sha256block_amd64.go:crypto/internal/fips140/sha256.block [subject]
      100  sha256.go:crypto/sha256.Sum256 [subject]
`)
	require.NoError(t, err)
	require.Equal(t, 1100.0, cost)
	_, err = withoutSHA("Ir\n")
	require.ErrorContains(t, err, "0 totals")
}

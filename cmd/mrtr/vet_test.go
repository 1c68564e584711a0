package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALongRunSaysWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		at, finish := whereabouts(&said)
		at("listing the packages")
		time.Sleep(9 * time.Second)
		at("package 1 of 2, a")
		time.Sleep(2 * time.Second)
		at("package 2 of 2, b")
		time.Sleep(8 * time.Second)
		finish()
		require.Equal(t, "mrtr vet: package 1 of 2, a\n", said.String())
	})
}

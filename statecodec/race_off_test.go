//go:build !race

package statecodec_test

const raceEnabled = false

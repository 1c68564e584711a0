//go:build race

package statecodec_test

const raceEnabled = true

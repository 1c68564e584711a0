package prove_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// thorough runs the long tables: every mistake against all rules, our styles with a
// store against all rules, and the servers of others. Without it a mistake is tried
// by the rules that it breaks.
var thorough = os.Getenv("MRTR_CI") == "1"

// unlessThorough are the rules and groups that are tried; nil, which is all, where
// the tests are thorough.
func unlessThorough(only ...string) []string {
	if thorough {
		return nil
	}
	return only
}

// TestMain lets the proofs run side by side. They allocate much and keep little, so
// the collector need not run often.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

package internal_test

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/stack"
)

// amount is a value that a client could have sent.
const amount = 0x7ecabada55

//go:noinline
func transfer(cents int, fail func()) int {
	fail()
	return cents
}

// panicked is a trace taken where a panic was recovered.
func panicked(trace func() []byte) (text string) {
	defer func() {
		if recover() != nil {
			text = string(trace())
		}
	}()
	transfer(amount, func() { panic("no") })
	return ""
}

func TestATraceShowsNoValues(t *testing.T) {
	require.Contains(t, panicked(debug.Stack), "7ecabada55", "the runtime's own trace shows it")
	trace := panicked(func() []byte { return stack.Trace(0) })
	require.NotContains(t, trace, "7ecabada55")
	require.NotContains(t, trace, "0x")
	require.Contains(t, trace, "internal_test.transfer\n", "the function that panicked")
	require.Contains(t, trace, "stack_test.go:18\n", "and its line")
}

func TestATraceBeginsWithTheCaller(t *testing.T) {
	require.True(t, strings.HasPrefix(string(stack.Trace(0)), "github.com/mrtr-go/sdk/internal_test.TestATraceBeginsWithTheCaller\n"))
	require.True(t, strings.HasPrefix(string(stack.Trace(1)), "testing.tRunner\n"))
}

func TestATraceIsBounded(t *testing.T) {
	var trace string
	var descend func(depth int)
	descend = func(depth int) {
		if depth > 0 {
			descend(depth - 1)
			return
		}
		trace = string(stack.Trace(0))
	}
	descend(1000)
	require.Equal(t, 128, strings.Count(trace, "\n\t"))
	require.True(t, strings.HasSuffix(trace, "\n...\n"))
	descend(10)
	require.False(t, strings.HasSuffix(trace, "...\n"))
}

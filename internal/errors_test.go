package internal_test

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/stack"
	"github.com/mrtr-go/sdk/internal/usage"
)

func TestTheCodeIsOursAndTheCauseIsKept(t *testing.T) {
	answer := &jsonrpc.Error{Code: -32000, Message: "the client's own"}
	cause := fmt.Errorf("no answer: %w", answer)
	for _, test := range []struct {
		explanation string
		err         error
		want        jsonrpc.Error
	}{
		{"an outcome", callerror.Stopped(cause, "timed_out"), jsonrpc.Error{Code: -31000, Message: cause.Error(), Data: []byte(`{"reason":"timed_out"}`)}},
		{"a fault", callerror.Fault(cause, "a\"b"), jsonrpc.Error{Code: -32603, Message: cause.Error(), Data: []byte(`{"reason":"a\u0022b"}`)}},
	} {
		var wire *jsonrpc.Error
		require.ErrorAs(t, test.err, &wire, test.explanation)
		require.Equal(t, test.want, *wire, test.explanation)
		require.ErrorIs(t, test.err, cause, test.explanation)
		require.Equal(t, cause.Error(), test.err.Error(), test.explanation)
	}
}

// The codes that JSON-RPC and the protocol reserve, and mean something else by.
func TestTheOutcomeIsNobodyElsesCode(t *testing.T) {
	require.False(t, callerror.CodeStopped >= -32768 && callerror.CodeStopped <= -32000)
	var wire *jsonrpc.Error
	require.ErrorAs(t, callerror.Stopped(errors.New("no"), ""), &wire)
	require.NotEqual(t, int64(mcp.CodeMissingRequiredClientCapabilities), wire.Code)
}

func TestZeroMeansTheDefaultAndNegativeIsRefused(t *testing.T) {
	calls, size, wait := 0, int64(7), time.Duration(0)
	o := usage.Of("pkg", "Options")
	usage.Default(o, "MaxCalls", &calls, 100)
	usage.Default(o, "MaxSize", &size, 1)
	usage.Default(o, "Wait", &wait, time.Minute)
	require.NoError(t, o.Err())
	require.Equal(t, 100, calls)
	require.EqualValues(t, 7, size)
	require.Equal(t, time.Minute, wait)

	wait, calls = -time.Second, -1
	usage.Default(o, "Wait", &wait, time.Minute)
	usage.Default(o, "MaxCalls", &calls, 100)
	require.EqualError(t, o.Err(), "pkg: Options.Wait is negative: -1s", "the first mistake")
}

func TestAnErrorHasTheCauseThatItWraps(t *testing.T) {
	cause := errors.New("no")
	err := usage.New("pkg", "host %q: %w", "x", cause)
	require.EqualError(t, err, `pkg: host "x": no`)
	require.ErrorIs(t, err, cause)
	require.NoError(t, errors.Unwrap(usage.New("pkg", "no")))
	require.Equal(t, err.Error(), usage.Recorded(err.Error()).Error())
}

// amount is a value that a client could have sent.
const amount = 0x7ecabada55

// calling is the line of transfer before the one that fails.
var calling int

//go:noinline
func transfer(cents int, fail func()) int {
	_, _, calling, _ = runtime.Caller(0)
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
	require.Contains(t, trace, fmt.Sprintf("errors_test.go:%d\n", calling+1), "and its line")
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

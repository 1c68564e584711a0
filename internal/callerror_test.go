package internal_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/callerror"
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

package kit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

func Said(t testing.TB, out *wire.Outcome, want string) {
	t.Helper()
	require.Nil(t, out.Error)
	require.False(t, out.IsError, out.Text)
	require.Equal(t, "", out.State)
	require.JSONEq(t, string(JSON(Output{want})), string(out.Structured))
}

// Ended requires that a call ended for a reason.
func Ended(t testing.TB, err error, reason mrtr.Reason, explanation ...any) *mrtr.Error {
	t.Helper()
	var ended *mrtr.Error
	require.ErrorAs(t, err, &ended, explanation...)
	require.Equal(t, reason, ended.Reason, explanation...)
	return ended
}

// Misuse requires an error that says the program is wrong.
func Misuse(t testing.TB, err error, explanation ...any) *mrtr.UsageError {
	t.Helper()
	var usage *mrtr.UsageError
	require.ErrorAs(t, err, &usage, explanation...)
	return usage
}

// PanicOf requires an error that is a panic.
func PanicOf(t testing.TB, err error) *mrtr.PanicError {
	t.Helper()
	var panicked *mrtr.PanicError
	require.ErrorAs(t, err, &panicked)
	return panicked
}

// RefusedWith requires a protocol error.
func RefusedWith(t testing.TB, err *jsonrpc.Error, code int64, explanation ...any) {
	t.Helper()
	require.NotNil(t, err, explanation...)
	require.EqualValues(t, code, err.Code, explanation...)
}

// Code requires that an error is one of JSON-RPC, with a code.
func Code(t testing.TB, err error, code int64, explanation ...any) *jsonrpc.Error {
	t.Helper()
	var wire *jsonrpc.Error
	require.ErrorAs(t, err, &wire, explanation...)
	require.Equal(t, code, wire.Code, explanation...)
	return wire
}

// ToldBy is all that an error tells a client: its text and its hints.
func ToldBy(err error) string {
	told := err.Error()
	var hinted interface{ ToolErrorHints() []string }
	if errors.As(err, &hinted) {
		told += " " + strings.Join(hinted.ToolErrorHints(), " ")
	}
	return told
}

// FailsWith requires an error result with a text, of which a client is not told if it is a mistake
// in the program.
func FailsWith(t testing.TB, out *wire.Outcome, text string) {
	t.Helper()
	require.Nil(t, out.Error)
	require.True(t, out.IsError)
	if strings.HasPrefix(text, "mrtr: ") {
		text = "This tool has a fault: its server's log says more."
	}
	require.Equal(t, text, out.Text)
}

// Soon waits for what another goroutine is about to do.
func Soon(tb testing.TB, condition func() bool, what string) {
	tb.Helper()
	for deadline := time.Now().Add(5 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			require.Fail(tb, "not in five seconds: "+what)
		}
	}
}

// InBubble runs a subtest in a bubble of its own, whose time passes while everybody waits.
func InBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Canary stands where a client must never see it.
const Canary = "CANARY-4711"

// Rows are those of a table. Names whose cells are equal share one.
type Rows []struct {
	names []string
	cells string
}

func (r *Rows) Add(name, cells string) {
	for i := range *r {
		if (*r)[i].cells == cells {
			(*r)[i].names = append((*r)[i].names, name)
			return
		}
	}
	*r = append(*r, struct {
		names []string
		cells string
	}{[]string{name}, cells})
}

func (r Rows) By(separator string) (rows string) {
	for _, row := range r {
		rows += "| " + strings.Join(row.names, separator) + " |" + row.cells + "\n"
	}
	return rows
}

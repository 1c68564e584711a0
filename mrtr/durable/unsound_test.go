package durable_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/store"
)

// soldOut is an error whose nil pointer has no text.
type soldOut struct{ what string }

func (e *soldOut) Error() string { return e.what + " is sold out" }

// moody is an error that panics when it is asked whether it is retryable.
type moody struct{}

func (moody) Error() string            { return "moody" }
func (moody) ToolErrorRetryable() bool { panic("moody") }

// sour is an output that panics when it is read.
type sour struct{}

func (sour) MarshalJSON() ([]byte, error) { panic("sour") }

// badlyEnded are handlers whose error or result panics when it is read.
func badlyEnded() map[string]linear.Func[kit.In, sour] {
	ending := func(end func() (sour, error)) linear.Func[kit.In, sour] {
		return kit.Linear(func(s *kit.Stage, _ kit.In) (sour, error) {
			kit.Ask(s, kit.Text("q"))
			return end()
		})
	}
	return map[string]linear.Func[kit.In, sour]{
		"an error that is a nil pointer": ending(func() (sour, error) { var none *soldOut; return sour{}, none }),
		"an error that panics":           ending(func() (sour, error) { return sour{}, moody{} }),
		"a result that panics":           ending(func() (sour, error) { return sour{}, nil }),
	}
}

// sendSour makes one request of such a handler, as go-sdk would.
func sendSour(handler mcp.ToolHandlerFor[kit.In, sour], state string) (*mcp.CallToolResult, error) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: kit.ModernMeta(),
		Name: "trip", Arguments: json.RawMessage(`{"who":""}`), RequestState: state,
	}}
	if state != "" {
		req.Params.InputResponses = mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"q": "x"}}}
	}
	res, _, err := handler(context.Background(), req, kit.In{})
	return res, err
}

// An error or a result that panics when it is read ends its call, where its frame is held and
// where it is replayed. Its turn does not stay claimed.
func TestResultsThatPanicEndTheCallAndNothingElse(t *testing.T) {
	for explanation, handler := range badlyEnded() {
		t.Run(explanation, func(t *testing.T) {
			shared := kit.Shared{Memory: store.NewMemory(nil)}
			var tools [2]mcp.ToolHandlerFor[kit.In, sour]
			for i := range tools {
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(shared, nil)})
				tools[i] = mrtr.Tool(rt, linear.Resumable(handler), nil)
			}
			for _, at := range []int{0, 1} { // where the frame is, and elsewhere
				asked, err := sendSour(tools[0], "")
				require.NoError(t, err)
				_, first := sendSour(tools[at], asked.RequestState)
				require.Error(t, first)
				_, second := sendSour(tools[at], asked.RequestState)
				require.Error(t, second)
				require.NotContains(t, second.Error(), "running", "the turn is not claimed any more")
				require.Equal(t, "The tool failed unexpectedly.", first.Error())
				require.Equal(t, first.Error(), second.Error())
			}
		})
	}
}

// Without a store too, go-sdk gets an error that it can read.
func TestAnErrorThatIsANilPointerEndsItsCall(t *testing.T) {
	rt := kit.TripRuntime(t, nil)
	handler := mrtr.Tool(rt, linear.Journal(badlyEnded()["an error that is a nil pointer"]), nil)
	asked, err := sendSour(handler, "")
	require.NoError(t, err)
	_, err = sendSour(handler, asked.RequestState)
	var panicked *mrtr.PanicError
	require.ErrorAs(t, err, &panicked)
}

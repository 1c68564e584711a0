package kit

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

func NewServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
}

func Connect(t testing.TB, server *mcp.Server, opts *wire.Options) *wire.Client {
	t.Helper()
	client, err := wire.Connect(context.Background(), server, opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// The clients that are not modern.
var (
	Legacy         = &wire.Options{Version: wire.Legacy}
	LegacyMute     = &wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing}
	NegotiatedDown = &wire.Options{Version: wire.Modern, Handshake: true}
)

type Input struct {
	Location string   `json:"location,omitempty"`
	Tags     []string `json:"tags,omitempty"`
}

type Output struct {
	Said string `json:"said"`
}

// Handler is the handler of most tests.
type Handler = mrtr.GuardedFunc[Input, Output]

// ServeStyle serves one handler as "tool".
func ServeStyle[In, Out any](rt *mrtr.Runtime, style mrtr.Style[In, Out], opts *mrtr.HandlerOptions) *mcp.Server {
	server := NewServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, opts))
	return server
}

// ServeTool serves one guarded handler as "tool".
func ServeTool(rt *mrtr.Runtime, h Handler, opts *mrtr.HandlerOptions) *mcp.Server {
	return ServeStyle(rt, mrtr.Native(h), opts)
}

// ConnectTo connects a client to a guarded handler on a runtime of its own.
func ConnectTo(t testing.TB, h Handler, opts *wire.Options) *wire.Client {
	t.Helper()
	rt, _ := NewRuntime(t, nil)
	return Connect(t, ServeTool(rt, h, nil), opts)
}

// Asking is a handler that asks one question and repeats its answer.
func Asking[T any](q mrtr.Question[T], say func(T) string) Handler {
	return func(_ context.Context, c *mrtr.Call, _ Input) (*mrtr.IncompleteResult, Output, error) {
		v, ok := mrtr.Answer(c, q)
		if !ok {
			return mrtr.Need(q), Output{}, nil
		}
		return nil, Output{say(v)}, nil
	}
}

func Itself(s string) string { return s }

var Units = mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)

// Call runs "tool" to its end.
func Call(t testing.TB, client *wire.Client, answers wire.Answers) *wire.Outcome {
	t.Helper()
	// A requirement that fails in a handler ends its goroutine, and nobody answers.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := client.Call(ctx, "tool", map[string]any{}, answers)
	require.NoError(t, err)
	return out
}

// Play calls a guarded handler once, as a modern client.
func Play(t testing.TB, h Handler, answers wire.Answers) *wire.Outcome {
	t.Helper()
	return Call(t, ConnectTo(t, h, nil), answers)
}

// Send makes one request.
func Send(t testing.TB, client *wire.Client, r wire.Request) *wire.Reply {
	t.Helper()
	reply, err := client.Send(t.Context(), r)
	require.NoError(t, err)
	return reply
}

// ModernMeta is the metadata of a modern client that can be asked with a form.
func ModernMeta() mcp.Meta {
	return mcp.Meta{
		mcp.MetaKeyProtocolVersion:    wire.Modern,
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
}

func After(d time.Duration, answer wire.Answer) wire.Answer {
	return func(q wire.Question) any {
		time.Sleep(d)
		return answer(q)
	}
}

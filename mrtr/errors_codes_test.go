package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse"
)

// One cause has one code, whichever way it arises: found by the engine, by the
// bridge under it, by AskOver, or by sse on its own.
func TestTheSameCauseHasTheSameCode(t *testing.T) {
	type promptFunc = mrtr.GuardedFunc[map[string]string, *mcp.GetPromptResult]
	needsUnits := func(_ context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		return mrtr.Need(units), nil, nil
	}
	needsTooMany := func(context.Context, *mrtr.Call, map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		var many []mrtr.AnyQuestion
		for i := range 17 {
			many = append(many, mrtr.Elicit[string](fmt.Sprint("q", i), "?"))
		}
		return mrtr.Need(many...), nil, nil
	}
	asksOver := func(ctx context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		_, err := units.AskOver(ctx, c.Session())
		return nil, nil, err
	}
	fails := func(err error) promptFunc {
		return func(context.Context, *mrtr.Call, map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
			return nil, nil, err
		}
	}
	engine := func(h promptFunc, legacy mrtr.LegacyPolicy) func(rt *mrtr.Runtime) mcp.PromptHandler {
		return func(rt *mrtr.Runtime) mcp.PromptHandler {
			return mrtr.Prompt(rt, mrtr.Native(h), &mrtr.HandlerOptions{Legacy: legacy})
		}
	}
	bridgeAlone := func(*mrtr.Runtime) mcp.PromptHandler {
		return sse.BridgePrompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"units": &mcp.ElicitParams{Message: "Which units?"}}}, nil
		}, nil)
	}
	const stopped, fault = -31000, -32603
	for _, c := range []struct {
		explanation string
		handler     func(rt *mrtr.Runtime) mcp.PromptHandler
		client      *wire.Options
		answer      wire.Answer
		want        int64
	}{
		{"cannot be asked, by the engine", engine(needsUnits, mrtr.LegacyRefuse), legacyClient, wire.Missing, stopped},
		{"cannot be asked, by the bridge's gate in the engine", engine(needsUnits, mrtr.LegacyBridge), legacyMute, wire.Missing, stopped},
		{"cannot be asked, by AskOver", engine(asksOver, mrtr.LegacyBridge), legacyMute, wire.Missing, stopped},
		{"cannot be asked, by sse alone", bridgeAlone, legacyMute, wire.Missing, stopped},
		{"declined, modern", engine(needsUnits, mrtr.LegacyBridge), nil, wire.Decline, stopped},
		{"declined, legacy", engine(needsUnits, mrtr.LegacyBridge), legacyClient, wire.Decline, stopped},
		{"declined, by AskOver", engine(asksOver, mrtr.LegacyBridge), legacyClient, wire.Decline, stopped},
		{"an outcome of the author's", engine(fails(outcome{}), mrtr.LegacyBridge), nil, wire.Missing, stopped},
		{"an error of the author's", engine(fails(errors.New("disk full")), mrtr.LegacyBridge), nil, wire.Missing, fault},
		{"a limit exceeded", engine(needsTooMany, mrtr.LegacyBridge), nil, wire.Missing, fault},
		{"misuse", engine(fails(mrtr.Question[string]{}.Err()), mrtr.LegacyBridge), nil, wire.Missing, fault},
		{"a code of the author's", engine(fails(fmt.Errorf("no: %w", &jsonrpc.Error{Code: 7})), mrtr.LegacyBridge), nil, wire.Missing, 7},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			rt, _ := newRuntime(t, nil)
			server := newServer()
			server.AddPrompt(&mcp.Prompt{Name: "p"}, c.handler(rt))
			out, err := connect(t, server, c.client).Run(t.Context(), wire.Request{Method: "prompts/get", Name: "p"}, wire.Answers{"units": c.answer})
			require.NoError(t, err)
			require.NotNil(t, out.Error)
			require.EqualValues(t, c.want, out.Error.Code)
		})
	}
}

// A legacy client's own error is the answer to a question, and its code means
// nothing to the call.
func TestACodeOfTheClientIsNotPassedOn(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	server := newServer()
	server.AddPrompt(&mcp.Prompt{Name: "p"}, mrtr.Prompt(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		_, err := units.AskOver(ctx, c.Session())
		return nil, nil, fmt.Errorf("asking: %w", err)
	}), nil))
	var seen error
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if err != nil {
				seen = err
			}
			return res, err
		}
	})
	serverEnd, clientEnd := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), serverEnd, nil)
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, &jsonrpc.Error{Code: -32000, Message: "no screen"}
		},
	})
	session, err := client.Connect(t.Context(), clientEnd, &mcp.ClientSessionOptions{ProtocolVersion: wire.Legacy})
	require.NoError(t, err)
	defer session.Close()
	_, err = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"})
	var coded *jsonrpc.Error
	require.ErrorAs(t, err, &coded)
	require.EqualValues(t, -31000, coded.Code)
	var failed *sse.Error
	require.ErrorAs(t, seen, &failed)
	require.Equal(t, sse.Failed, failed.Reason)
}

// outcome is an error of the author's that its client can do something about.
type outcome struct{}

func (outcome) Error() string           { return "no seats left" }
func (outcome) ToolErrorType() string   { return "sold_out" }
func (outcome) ToolErrorExpected() bool { return true }

package mrtr_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// twoAnswers asks twice, and says both answers.
func twoAnswers(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
	first, ok := mrtr.Answer(c, text("first"))
	if !ok {
		return mrtr.Need(text("first")), output{}, nil
	}
	second, ok := mrtr.Answer(c, text("second"))
	if !ok {
		return mrtr.Need(text("second")), output{}, nil
	}
	return nil, output{first + " " + second}, nil
}

// The states of a runtime name its instance, in every round, also where the state itself is
// in the store; without a name they have none. Other instances with the keys open them.
func TestStatesNameTheirInstance(t *testing.T) {
	keys := []statecodec.Key{statecodec.GenerateKey()}
	for explanation, remember := range map[string]*mrtr.RememberOptions{"in the token": nil, "by reference": {ByReference: 1}} {
		t.Run(explanation, func(t *testing.T) {
			memory := store.NewMemory(nil)
			instance := func(name string) *wire.Client {
				rt, _ := newRuntime(t, &mrtr.Options{State: &statecodec.Options{Keys: keys, Instance: name}, Store: shared{memory}, Remember: remember})
				return connect(t, serveTool(rt, twoAnswers, nil), nil)
			}
			clients := []*wire.Client{instance("a"), instance("eu-2"), instance("")}
			request := wire.Request{Name: "tool", Arguments: input{}}
			for i, want := range []string{"a", "eu-2", ""} {
				reply, err := clients[i].Send(t.Context(), request)
				require.NoError(t, err)
				if i == 2 {
					require.JSONEq(t, `{"said":"x y"}`, string(reply.Structured))
					break
				}
				name, ok := statecodec.Instance(reply.State)
				require.Equal(t, want != "", ok)
				require.Equal(t, want, name)
				request.State = reply.State
				request.Responses = map[string]any{reply.Asks[0].Key: map[string]any{"action": "accept", "content": map[string]any{reply.Asks[0].Key: []string{"x", "y"}[i]}}}
			}
			plain, err := clients[2].Send(t.Context(), wire.Request{Name: "tool", Arguments: input{}})
			require.NoError(t, err)
			_, ok := statecodec.Instance(plain.State)
			require.False(t, ok)
		})
	}
}

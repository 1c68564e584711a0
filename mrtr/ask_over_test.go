package mrtr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// A legacy session can be asked every kind of question, also those without a form.
func TestAskOverAsksEveryKindOfQuestion(t *testing.T) {
	over := func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		unit, err := units.AskOver(ctx, c.Session())
		if err != nil {
			return nil, output{}, err
		}
		if _, err := mrtr.ElicitURL("terms", "Read the terms.", "https://example.com/terms").AskOver(ctx, c.Session()); err != nil {
			return nil, output{}, err
		}
		folders, err := mrtr.Roots("folders").AskOver(ctx, c.Session())
		if err != nil {
			return nil, output{}, err
		}
		motto, err := mrtr.Sample("motto", &mcp.CreateMessageWithToolsParams{MaxTokens: 9}).AskOver(ctx, c.Session()) //lint:ignore SA1019 still legal on the wire
		if err != nil {
			return nil, output{}, err
		}
		return nil, output{fmt.Sprint(unit, len(folders.Roots), motto.Model)}, nil
	}
	rt, _ := newRuntime(t, nil)
	out := call(t, connect(t, serveTool(rt, over, nil), legacyClient), wire.Answers{
		"units":                  wire.Value("metric"),
		"elicitation/create":     wire.Raw(`{"action":"accept"}`),
		"roots/list":             wire.Raw(`{"roots":[{"uri":"file:///a"}]}`),
		"sampling/createMessage": wire.Raw(`{"role":"assistant","model":"m","content":{"type":"text","text":"on"}}`),
	})
	require.Len(t, out.Questions, 4)
	said(t, out, "metric1m")
}

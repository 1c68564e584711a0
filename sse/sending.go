package sse

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

// send copies the params first: the question belongs to the handler, which may
// share it among calls, and go-sdk writes to the params it is given.
func (a *asker) send(ctx context.Context, key string, q mcp.InputRequest) (mcp.InputResponse, error) {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		p := *q
		p.Meta = maps.Clone(p.Meta)
		p.RequestedSchema = bounded(p.RequestedSchema)
		if era.IsURL(q) && p.ElicitationID == "" {
			p.ElicitationID = a.urlAskIDs[key+" "+p.URL]
		}
		return answered(a.session.Elicit(ctx, &p))
	case *mcp.CreateMessageParams:
		return answered(a.session.CreateMessageWithTools(ctx, withTools(q)))
	case *mcp.CreateMessageWithToolsParams:
		p := *q
		p.Meta = maps.Clone(p.Meta)
		return answered(a.session.CreateMessageWithTools(ctx, &p))
	case *mcp.ListRootsParams:
		var p mcp.ListRootsParams
		if q != nil {
			p.Meta = maps.Clone(q.Meta)
		}
		return answered(a.session.ListRoots(ctx, &p))
	}
	return nil, fmt.Errorf("unknown question %T", q)
}

// answered keeps a nil pointer from becoming an answer.
func answered[R interface {
	*T
	mcp.InputResponse
}, T any](r R, err error) (mcp.InputResponse, error) {
	if err != nil || r == nil {
		return nil, err
	}
	return r, nil
}

// withTools widens a plain sampling question, so that its answer has the type
// that a modern client's answer is decoded into.
func withTools(q *mcp.CreateMessageParams) *mcp.CreateMessageWithToolsParams {
	messages := make([]*mcp.SamplingMessageV2, 0, len(q.Messages))
	for _, m := range q.Messages {
		messages = append(messages, &mcp.SamplingMessageV2{Content: []mcp.Content{m.Content}, Role: m.Role})
	}
	return &mcp.CreateMessageWithToolsParams{
		Meta:             maps.Clone(q.Meta),
		IncludeContext:   q.IncludeContext,
		MaxTokens:        q.MaxTokens,
		Messages:         messages,
		Metadata:         q.Metadata,
		ModelPreferences: q.ModelPreferences,
		StopSequences:    q.StopSequences,
		SystemPrompt:     q.SystemPrompt,
		Temperature:      q.Temperature,
	}
}

// brokeSchema recognizes the one failure of [mcp.ServerSession.Elicit] that is
// an answer: the content did not fit the question. go-sdk gives it no type, so
// its words are all there is; a test holds them, and were they to change, the
// call would end with an error result rather than ask again.
func brokeSchema(err error) bool {
	return strings.HasPrefix(err.Error(), "elicitation result content does not match requested schema")
}

package sse

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

// Ask puts questions over the session of a legacy client outside of any bridge,
// for handlers that ask in their own code. All are put at once and the first
// failure, an [*Error], cancels the rest. An answer that does not fit its
// question is missing from the map, as it is in the rounds of a bridge: ask
// again. A session that cannot carry a question is [Unreachable]. Bad options are a
// [*UsageError].
//
// ctx is the handler's own or comes from it: over HTTP that is how the questions
// find the stream of the call. Of opts only AnswerTimeout matters, because there are
// no rounds here and no progress is told. A caller that asks for the same url
// again sets its ElicitationID, because every Ask makes up a new one.
func Ask(ctx context.Context, session *mcp.ServerSession, questions mcp.InputRequestMap, opts *BridgeOptions) (mcp.InputResponseMap, error) {
	o, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	client := era.OfSession(session)
	for key, q := range questions {
		if err := canAnswer(client, key, q); err != nil {
			return nil, err
		}
	}
	a := &asker{session: session, options: o, urlAskIDs: map[string]string{}}
	responses, failed := a.ask(ctx, questions)
	if failed != nil {
		return nil, failed
	}
	return responses, nil
}

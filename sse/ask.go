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
// again. A session that cannot carry a question is [Unreachable].
//
// ctx is the handler's own or comes from it: over HTTP that is how the questions
// find the stream of the call. Of opts only LegTimeout matters, because there are
// no rounds here and no progress is told. A caller that asks for the same url
// again sets its ElicitationID, because every Ask makes up a new one.
func Ask(ctx context.Context, session *mcp.ServerSession, questions mcp.InputRequestMap, opts *BridgeOptions) (mcp.InputResponseMap, error) {
	client := era.OfSession(session)
	for key, q := range questions {
		if err := canAnswer(client, key, q); err != nil {
			return nil, err
		}
	}
	a := &asker{session: session, options: opts.resolve(), urlAskIDs: map[string]string{}}
	responses, err := a.ask(ctx, questions)
	if err != nil {
		return nil, err
	}
	return responses, nil
}

package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/wire"
)

const (
	maxRounds    = 10
	maxQuestions = 100 // of a round
)

// follow answers the questions of a call, round after round, until it ends. The
// error names the fault of a question, or is an unprovedError.
func (r *run) follow(ctx context.Context, t *tool, args any, res *jsonrpc.Response) (*jsonrpc.Response, error) {
	for range maxRounds {
		outcome, err := Judge(r.report.Era, res, nil)
		if err != nil || outcome != InputRequired {
			return res, nil // which the rule judges
		}
		var asks struct {
			InputRequests map[string]question `json:"inputRequests"`
			RequestState  string              `json:"requestState"`
		}
		if err := json.Unmarshal(res.Result, &asks); err != nil {
			return nil, fmt.Errorf("the input_required result does not read: %w", err)
		}
		if len(asks.InputRequests) > maxQuestions {
			return nil, fmt.Errorf("it asks more than %d questions at once", maxQuestions)
		}
		responses := map[string]any{}
		for key, q := range asks.InputRequests {
			if responses[key], err = q.answer(); err != nil {
				return nil, fmt.Errorf("the question %q: %w", key, err)
			}
		}
		next := wire.Request{Name: t.Name, Arguments: args, State: asks.RequestState}
		if len(responses) > 0 {
			next.Responses = responses
		}
		if res, err = r.ask(ctx, next); err != nil {
			return nil, fmt.Errorf("no answer to the next round: %w", err)
		}
	}
	return nil, &unprovedError{fmt.Errorf("the call asks further after %d rounds", maxRounds)}
}

// An unprovedError says why a call could not be brought to its end, which may be
// no fault of the server's.
type unprovedError struct{ error }

type question struct {
	Method string `json:"method"`
	Params struct {
		Mode            string          `json:"mode"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
	} `json:"params"`
}

// answer accepts a form with values that fit it: the tool is read-only, so there
// is nothing to agree to.
func (q question) answer() (any, error) {
	if q.Method != "elicitation/create" || q.Params.Mode != "" && q.Params.Mode != "form" {
		return nil, errors.New("it asks for what the client did not declare")
	}
	schema, err := ReadSchema(q.Params.RequestedSchema)
	if err != nil {
		return nil, fmt.Errorf("its requestedSchema does not read: %w", err)
	}
	content, err := Sample(schema)
	if err != nil {
		return nil, &unprovedError{err}
	}
	return map[string]any{"action": "accept", "content": content}, nil
}

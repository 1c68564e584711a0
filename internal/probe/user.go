package probe

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/wire"
)

// user answers the questions that come over the session of a legacy client, and
// remembers the fault of one.
type user struct {
	mu    sync.Mutex
	asked int // in the call that is being made
	fault error
}

func (u *user) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked, u.fault = 0, nil
}

func (u *user) wrong() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.fault
}

// answer is a [wire.Answer].
func (u *user) answer(q wire.Question) any {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	answer, err := u.judge(q)
	if err == nil {
		return answer
	}
	if u.fault == nil {
		u.fault = err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the question cannot be answered"}
}

func (u *user) judge(q wire.Question) (any, error) {
	if u.asked > maxQuestions {
		return nil, fmt.Errorf("it asks more than %d questions in one call", maxQuestions)
	}
	asked := question{Method: q.Method}
	if len(q.Params) > 0 {
		if err := json.Unmarshal(q.Params, &asked.Params); err != nil {
			return nil, fmt.Errorf("a question does not read: %w", err)
		}
	}
	answer, err := asked.answer()
	if err != nil {
		return nil, fmt.Errorf("the question %q: %w", q.Key, err)
	}
	return answer, nil
}

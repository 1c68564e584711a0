package mrtr

import (
	"encoding/json"
	"errors"

	"github.com/mrtr-go/sdk/statecodec"
)

// SealedFor names the request of a modern client that a state belongs to. A
// state opens for that request and for no other.
type SealedFor struct {
	Method    string // tools/call if empty
	Name      string // of the tool or prompt, or the resource's address
	Arguments json.RawMessage
	Principal string // "" for a caller who is not known
}

// Inspect opens a state with the runtime's keys and returns its content as
// JSON, for teaching and for debugging. It checks all that a round checks, so a
// state that has expired, was changed, or belongs to another request is refused
// with a [statecodec.TokenError], whose Reason is for the log and must not reach
// a client.
//
// The content holds what users answered, what effects returned, and the token
// of a held handler: whoever sees it sees everything that the seal hides. Its
// members may change from one release to the next; no program should depend on
// them. A server never needs Inspect to serve its rounds, and a client must not
// be offered it.
func (rt *Runtime) Inspect(state string, r SealedFor) (json.RawMessage, error) {
	if r.Method == "" {
		r.Method = "tools/call"
	}
	payload, err := rt.codec.Open(statecodec.Binding{
		Method:    r.Method,
		Target:    r.Name,
		Arguments: r.Arguments,
		Principal: r.Principal,
		Audience:  rt.opts.Audience,
	}, state)
	if err != nil {
		return nil, err
	}
	st, ok := decodeState(payload)
	if !ok {
		return nil, errors.New("mrtr: the state was sealed by another release")
	}
	return st.appendLegible(nil), nil
}

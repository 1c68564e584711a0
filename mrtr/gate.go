package mrtr

import (
	"encoding/json"

	"github.com/mrtr-go/sdk/era"
)

// gate decides, before anything is asked, whether this client can be asked the
// question. If not, it returns the answer that stands in, or the error.
func (c *Call) gate(s *spec) (standIn json.RawMessage, _ error) {
	client, policy := c.ex.client, c.target.policy
	asks := client.Era == era.Modern || client.Era == era.Legacy && policy.asksLegacy()
	capability := s.kind.capability()
	switch {
	case asks && client.Declared(capability):
		return nil, nil
	case s.fallback != nil && c.target.usesDefaults(client.Era):
		return s.fallback, nil
	case s.lenient:
		return s.outcome(notAsked), nil
	case client.Era == era.Modern:
		return nil, missingCapability(capability.Wire())
	case asks:
		return nil, cannotBeAsked(s.key, capability.String())
	case client.Era == era.Legacy:
		return nil, cannotBeAsked(s.key, needsModern)
	}
	return nil, cannotBeAsked(s.key, needsSession)
}

// A client that cannot be asked, whatever it declared, lacks one of these.
const (
	needsModern  = "protocol revision 2026-07-28"
	needsSession = "protocol revision 2026-07-28, or a session that can carry a question"
)

func cannotBeAsked(key, lacks string) error {
	return &Error{Reason: CannotBeAsked, Key: key, Detail: lacks}
}

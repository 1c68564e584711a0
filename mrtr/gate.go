package mrtr

import (
	"encoding/json"
	"slices"

	"github.com/mrtr-go/sdk/sse/era"
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
	case s.fallback() != nil && c.target.usesDefaults(client.Era):
		return s.fallback(), nil
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

// needs are the questions that every call of a handler asks, known before it is
// entered: one list for modern clients, and one for all others, who may get another
// style ([ByVersion]).
type needs struct{ modern, others []*spec }

func alwaysAsks(specs []*spec) needs { return needs{specs, specs} }

// add puts the questions of [HandlerOptions.Needs] before the style's own. One that
// no client can fail to answer is a mistake, since it would do nothing there.
func (n *needs) add(questions []AnyQuestion) error {
	specs, err := specsOf(nil, questions)
	if err != nil {
		return err
	}
	if len(specs) < len(questions) {
		return misuse("HandlerOptions.Needs has a question that is Known: nobody is asked it")
	}
	for _, s := range specs {
		if s.lenient {
			return misuse("HandlerOptions.Needs has question %q, which goes on without an answer: it refuses nobody", s.key)
		}
	}
	n.modern, n.others = slices.Concat(specs, n.modern), slices.Concat(specs, n.others)
	return nil
}

// refuseUnaskable ends a call, before its handler is entered, whose client cannot be
// asked what every call asks. Later, an effect above the question would have run.
func (c *Call) refuseUnaskable() error {
	s, err := c.unaskable()
	if err != nil {
		c.report(c.life, s, AnswerNotAsked)
	}
	return err
}

// unaskable is the first question that every call asks and that this client cannot be asked,
// with the error of such a call.
func (c *Call) unaskable() (*spec, error) {
	specs := c.target.needs.others
	if c.Modern() {
		specs = c.target.needs.modern
	}
	for _, s := range specs {
		if _, err := c.gate(s); err != nil {
			return s, err
		}
	}
	return nil, nil
}

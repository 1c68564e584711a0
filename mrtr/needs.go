package mrtr

import "slices"

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
	specs := c.target.needs.others
	if c.Modern() {
		specs = c.target.needs.modern
	}
	for _, s := range specs {
		if _, err := c.gate(s); err != nil {
			return err
		}
	}
	return nil
}

package mrtr

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/internal/form"
)

// settle judges the answers that came back by the questions that were sent.
// It reports whether the round is fully answered; what is missing or does not
// fit is asked again, without the handler. A no ends the call, unless it is an
// answer.
func (c *Call) settle() (settled bool, _ error) {
	for i := range c.st.pending {
		p := &c.st.pending[i]
		if p.settled() {
			continue
		}
		if err := p.judge(c.ex.answers[p.key]); err != nil {
			return false, err
		}
		if limit := c.rt.opts.MaxStateBytes / 2; len(p.answer) > limit {
			p.answer = nil
			if err := p.again(fmt.Sprintf("The answer was too long: it may have %d bytes.", limit)); err != nil {
				return false, err
			}
		}
	}
	return c.file(), nil
}

// judge takes one response. Anything may have arrived: nothing, null, the
// response to another kind of question, an action nobody defined.
func (p *pending) judge(response mcp.InputResponse) error {
	switch r := response.(type) {
	case *mcp.ElicitResult:
		if r == nil || p.kind != formKind && p.kind != urlKind {
			break
		}
		switch r.Action {
		case "accept":
			return p.accept(r.Content)
		case "decline", "cancel":
			if p.lenient {
				p.answer = null
				return nil
			}
			return declined(p.key, r.Action)
		}
		return p.again("Please accept, decline or cancel.")
	case *mcp.CreateMessageWithToolsResult:
		if r != nil && (p.kind == sampleKind || p.kind == toolsKind) {
			return keep(p, r)
		}
	case *mcp.ListRootsResult:
		if r != nil && p.kind == rootsKind {
			return keep(p, r)
		}
	case nil:
		return p.again("")
	}
	return p.again("The answer was of another kind than the question.")
}

var null = json.RawMessage("null")

func (p *pending) accept(content map[string]any) error {
	if p.kind == urlKind {
		p.answer = json.RawMessage("{}")
		return nil
	}
	f, err := form.Of(p.schema)
	if err != nil {
		return err
	}
	if p.answer, err = f.Accept(content); err != nil {
		p.answer = nil
		return p.again("The answer did not fit: " + f.Expects() + ".")
	}
	return nil
}

// keep takes what a client itself answers with, if it can be read back.
func keep[R any](p *pending, result *R) error {
	value, err := json.Marshal(result)
	if err == nil {
		err = json.Unmarshal(value, new(R))
	}
	if err != nil {
		return p.again("The answer could not be read.")
	}
	p.answer = value
	return nil
}

// again notes what was wrong, for the question's next appearance.
func (p *pending) again(note string) error {
	if p.tries++; p.tries > maxTries {
		return &Error{Reason: Unanswered, Key: p.key}
	}
	p.note = note
	return nil
}

// gate decides, before anything is asked, whether this client can be asked.
// If not, it finds the answer that stands in, or the error.
func (c *Call) gate(s *spec) (standIn json.RawMessage, _ error) {
	client, policy := c.ex.client, c.target.policy
	asks := client.Era == era.Modern || client.Era == era.Legacy && policy.asksLegacy()
	capability, declared := s.needs(client)
	switch {
	case asks && declared:
		return nil, nil
	case client.Era != era.Modern && policy.usesDefaults() && s.fallback != nil:
		return s.fallback, nil
	case s.lenient:
		return null, nil
	case client.Era == era.Modern:
		return nil, missingCapability(capability.wire)
	case asks:
		return nil, &Error{Reason: CannotBeAsked, Key: s.key, Detail: capability.name}
	case client.Era == era.Legacy:
		return nil, &Error{Reason: CannotBeAsked, Key: s.key, Detail: "protocol revision 2026-07-28"}
	}
	return nil, &Error{Reason: CannotBeAsked, Key: s.key, Detail: aStream}
}

// aStream is what a client lacks that nobody can reach.
const aStream = "protocol revision 2026-07-28, or a session that can carry a question"

type capability struct{ name, wire string }

// needs tells which capability a question takes, and whether the client
// declared it.
func (s *spec) needs(client era.Client) (capability, bool) {
	switch s.kind {
	case formKind:
		return capability{"form elicitation", `{"elicitation":{"form":{}}}`}, client.Form
	case urlKind:
		return capability{"url elicitation", `{"elicitation":{"url":{}}}`}, client.URL
	case sampleKind:
		return capability{"sampling", `{"sampling":{}}`}, client.Sampling
	case toolsKind:
		return capability{"sampling with tools", `{"sampling":{"tools":{}}}`}, client.SamplingTools
	}
	return capability{"roots", `{"roots":{}}`}, client.Roots
}

func declined(key, action string) error {
	if action == "cancel" {
		return &Error{Reason: Cancelled, Key: key}
	}
	return &Error{Reason: Declined, Key: key}
}

package mrtr

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/form"
)

// judgeAnswers holds the answers that came back against the questions that were sent. It
// reports whether every question has one now. Otherwise the open questions are
// asked again, without the handler. A decline ends the call with Declined, unless
// the question is lenient (Confirm, Optional).
func (c *Call) judgeAnswers() (settled bool, _ error) {
	for i := range c.st.pending {
		p := &c.st.pending[i]
		if p.settled() {
			continue
		}
		if err := p.judge(c.ex.answers[p.key]); err != nil {
			return false, err
		}
		if limit := c.rt.opts.MaxStateBytes / 2; len(p.answer) > limit {
			if err := p.again(fmt.Sprintf("The answer was too long: it may have %d bytes.", limit)); err != nil {
				return false, err
			}
		}
	}
	return c.file(), nil
}

// file remembers the answers of a round, if every question has one.
func (c *Call) file() bool {
	if !c.st.settled() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.st.file()
	return true
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
				p.settle(null)
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

func (p *pending) accept(content map[string]any) error {
	if p.kind == urlKind {
		p.settle(json.RawMessage("{}"))
		return nil
	}
	f, err := form.Of(p.schema)
	if err != nil {
		return err
	}
	answer, err := f.Accept(content)
	if err != nil {
		return p.again("The answer did not fit: " + f.Expects() + ".")
	}
	p.settle(answer)
	return nil
}

// keep stores a sampling or roots result that survives a JSON round trip. Any other
// is asked for again.
func keep[R any](p *pending, result *R) error {
	value, err := json.Marshal(result)
	if err == nil {
		err = json.Unmarshal(value, new(R))
	}
	if err != nil {
		return p.again("The answer could not be read.")
	}
	p.settle(value)
	return nil
}

func declined(key, action string) error {
	if action == "cancel" {
		return &Error{Reason: Cancelled, Key: key}
	}
	return &Error{Reason: Declined, Key: key}
}

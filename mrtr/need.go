package mrtr

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/statecodec"
)

// take files what the handler needs as pending, judging at once what cannot
// be asked. It reports whether that answered everything.
func (c *Call) take(need *IncompleteResult) (answered bool, _ error) {
	specs, err := specsOf(need.questions)
	if err != nil {
		return false, err
	}
	if need.carries {
		if c.st.author, err = json.Marshal(need.author); err != nil {
			return false, misuse("the carried value cannot be encoded: %v", err)
		}
	} else if len(specs) == 0 {
		return false, misuse("an incomplete result that asks nothing and carries nothing")
	}
	if limit := c.rt.opts.MaxQuestions; len(specs) > limit {
		return false, limitExceeded(limit, "questions in one round")
	}
	c.st.pending = make([]pending, len(specs))
	for i, s := range specs {
		c.st.pending[i].spec = *s
		if c.st.pending[i].answer, err = c.gate(s); err != nil {
			return false, err
		}
	}
	return len(specs) > 0 && c.file(), nil
}

// file moves the answers of a fully answered round to what is done, in the
// order of the questions. It reports whether the round was fully answered.
func (c *Call) file() bool {
	for i := range c.st.pending {
		if !c.st.pending[i].settled() {
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.st.pending {
		p := &c.st.pending[i]
		c.forget(p.key)
		c.st.done = append(c.st.done, entry{kind: answerEntry, key: p.key, digest: p.digest(), value: p.answer})
	}
	c.st.pending = nil
	return true
}

// forget drops an answer that a handler asks for again. The caller holds c.mu.
func (c *Call) forget(key string) {
	for i := range c.st.done {
		if e := &c.st.done[i]; e.kind == answerEntry && e.key == key {
			c.st.done = append(c.st.done[:i:i], c.st.done[i+1:]...)
			return
		}
	}
}

// ask seals the state and makes the requests for what is still open.
func (rt *Runtime) ask(c *Call) (*asked, error) {
	requests := make(mcp.InputRequestMap, len(c.st.pending))
	for i := range c.st.pending {
		p := &c.st.pending[i]
		if p.settled() {
			continue
		}
		request, err := p.request(p.note)
		if err != nil {
			return nil, err
		}
		requests[p.key] = request
	}
	counter, limit, what := &c.st.asked, maxAsks, "rounds of questions in one call"
	if len(requests) == 0 {
		counter, limit, what = &c.st.carried, maxCarries, "rounds that only carry state in one call"
	}
	if *counter++; *counter > limit {
		return nil, limitExceeded(limit, what)
	}
	if err := c.hold(); err != nil {
		return nil, err
	}
	var buf [1024]byte
	payload := c.st.appendTo(buf[:0])
	if limit := rt.opts.MaxStateBytes; len(payload) > limit {
		return nil, limitExceeded(limit, "bytes of state")
	}
	token, err := rt.codec.Seal(c.binding(), payload)
	switch {
	case errors.Is(err, statecodec.ErrArguments):
		return nil, badArguments()
	case errors.Is(err, statecodec.ErrTooLarge):
		return nil, limitExceeded(rt.opts.State.MaxToken, "bytes of sealed state")
	case err != nil:
		return nil, err
	}
	return &asked{requests: requests, token: token}, nil
}

package prove

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mrtr-go/sdk/internal/wire"
)

// exchange is one request and its outcome.
type exchange struct {
	request wire.Request
	// altered describes the change to the request's state, if there is one.
	altered string
	reply   *wire.Reply // nil if none came
	err     error       // why none came
}

func (s exchange) asks() bool     { return s.reply != nil && s.reply.Error == nil && s.reply.Incomplete() }
func (s exchange) protocol() bool { return s.reply != nil && s.reply.Error != nil }

// failsWith says that the request ended in a protocol error of a code.
func (s exchange) failsWith(code int64) bool { return s.protocol() && s.reply.Error.Code == code }

// refused says that the request ended in an error, of either kind.
func (s exchange) refused() bool {
	return s.protocol() || s.reply != nil && !s.asks() && s.reply.IsError
}

// complete says that the call came to a result that is no error.
func (s exchange) complete() bool {
	return s.reply != nil && !s.protocol() && !s.asks() && !s.reply.IsError
}

// raw is the result or the error as it came.
func (s exchange) raw() string {
	if s.protocol() {
		return s.reply.Error.Error()
	}
	return string(s.reply.Result)
}

// outline is the reply in one line, without the parts that differ between two
// equal calls: ids, states and metadata.
func (s exchange) outline() string {
	switch {
	case s.reply == nil:
		return fmt.Sprintf("no answer: %v", s.err)
	case s.protocol():
		return fmt.Sprintf("error %d: %s", s.reply.Error.Code, s.reply.Error.Message)
	case s.asks():
		questions := []string{}
		for _, q := range s.reply.Asks {
			questions = append(questions, fmt.Sprintf("%s %q", q.Key, q.Message+q.URL))
		}
		return "asks " + strings.Join(questions, ", ")
	case s.reply.IsError:
		return fmt.Sprintf("error result %q", s.reply.Text)
	}
	outline := fmt.Sprintf("result %q", s.reply.Text)
	if len(s.reply.Structured) > 0 {
		outline += " " + canonical(s.reply.Structured)
	}
	return outline
}

// shown is the request's params, in which a sealed state is described rather
// than quoted: it is another in each run.
func (s exchange) shown(honest *playedCall) json.RawMessage {
	params := map[string]any{}
	if s.request.Params != nil {
		var raw map[string]any
		if json.Unmarshal([]byte(marshal(s.request.Params)), &raw) == nil {
			params = raw
			delete(params, "_meta")
		}
	} else {
		params = paramsOf(s.request)
	}
	if state, ok := params["requestState"].(string); ok && state != "" && (len(state) > longestShown || honest == nil || !honest.constant) {
		described := s.altered
		if described == "" {
			described = "the state of the round before"
		}
		params["requestState"] = "(" + described + ")"
	}
	if shown := marshal(params); len(shown) <= 16*longestShown {
		return json.RawMessage(shown)
	}
	delete(params, "inputResponses")
	delete(params, "arguments")
	if shown := marshal(params); len(shown) <= 16*longestShown {
		return json.RawMessage(shown)
	}
	return nil // a server that asks with such names is no help to a reader
}

// paramsOf are the params of a round, as the client writes them.
func paramsOf(r wire.Request) map[string]any {
	params := map[string]any{"name": r.Name, "arguments": r.Arguments}
	if r.State != "" {
		params["requestState"] = r.State
	}
	if r.Responses != nil {
		params["inputResponses"] = r.Responses
	}
	return params
}

// longestShown is the longest state that a report quotes.
const longestShown = 256

// canonical is JSON with its members sorted.
func canonical(raw json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(raw)
	}
	return marshal(v)
}

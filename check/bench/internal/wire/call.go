// Package wire is a client that does as little as a client can: it makes a call
// of several rounds with requests that it writes itself, and checks how the call
// came to. Every server that is measured is driven by it.
package wire

import (
	"encoding/json"
	"fmt"
)

// Call is one call: the tool, its arguments, how its questions are answered, and
// the text it must come to.
type Call struct {
	Tool      string
	Arguments string            // JSON
	Answers   map[string]string // by the question's key, which is its property too
	Text      string
	Requests  int // how many it must take
}

// Conn carries one request to a server and brings back its result.
type Conn interface {
	Send(tool string, request []byte) (response []byte, err error)
	Close() error
}

// Make makes the call over a connection.
func (c *Call) Make(conn Conn) error {
	state, answers := "", []byte(nil)
	for n := 1; ; n++ {
		response, err := conn.Send(c.Tool, c.request(n, state, answers))
		if err != nil {
			return fmt.Errorf("%s, request %d: %w", c.Tool, n, err)
		}
		var r reply
		if err := json.Unmarshal(response, &r); err != nil {
			return fmt.Errorf("%s, request %d: %w in %q", c.Tool, n, err, response)
		}
		if r.Result.ResultType == "input_required" && n < c.Requests {
			state = r.Result.RequestState
			if answers, err = c.answers(r.Result.InputRequests); err != nil {
				return err
			}
			continue
		}
		if n != c.Requests || len(r.Result.Content) != 1 || r.Result.Content[0].Text != c.Text || r.Result.IsError {
			return fmt.Errorf("%s came to %q after %d requests", c.Tool, response, n)
		}
		return nil
	}
}

// reply is the part of a response that the client reads.
type reply struct {
	Result struct {
		ResultType    string                     `json:"resultType"`
		RequestState  string                     `json:"requestState"`
		InputRequests map[string]json.RawMessage `json:"inputRequests"`
		IsError       bool                       `json:"isError"`
		Content       []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"client","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

func (c *Call) request(id int, state string, answers []byte) []byte {
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,`, id, c.Tool, c.Arguments)
	if id > 1 {
		quoted, err := json.Marshal(state)
		if err != nil {
			panic(err) // a string is always JSON
		}
		b = fmt.Appendf(b, `"requestState":%s,"inputResponses":%s,`, quoted, answers)
	}
	return append(append(b, meta...), "}}"...)
}

func (c *Call) answers(questions map[string]json.RawMessage) ([]byte, error) {
	type answer struct {
		Action  string            `json:"action"`
		Content map[string]string `json:"content"`
	}
	all := map[string]answer{}
	for key := range questions {
		said, ok := c.Answers[key]
		if !ok {
			return nil, fmt.Errorf("%s asks %q, which nobody expected", c.Tool, key)
		}
		all[key] = answer{"accept", map[string]string{key: said}}
	}
	return json.Marshal(all)
}

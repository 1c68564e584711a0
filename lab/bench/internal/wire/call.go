// Package wire is a client that does as little as a client can: it writes its requests as
// bytes and checks how each call came to its end. Every server that is measured is driven
// by it.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Call is one call: the tool, its arguments, how its questions are answered, and
// the text that it must come to.
type Call struct {
	Tool      string
	Arguments string            // JSON
	Answers   map[string]string // by the question's key, which is its property too
	Text      string
	Requests  int           // how many it must take
	Think     time.Duration // before each of them
	Tools     int           // to list this many tools, in place of a call
}

// Client makes calls over a connection of its own.
type Client interface {
	Make(c *Call) error
	Close() error
}

// conn carries one request to a server and brings back its response.
type conn interface {
	send(method, name string, request []byte) (response []byte, err error)
	Close() error
}

// modern is a client of revision 2026-07-28: each round of a call is a request.
type modern struct{ conn }

func (m modern) Make(c *Call) error {
	if c.Tools > 0 {
		return m.list(c)
	}
	state, answers := "", []byte(nil)
	for n := 1; ; n++ {
		time.Sleep(c.Think)
		response, err := m.send("tools/call", c.Tool, c.request(n, state, answers))
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
		if n != c.Requests {
			return fmt.Errorf("%s ended after %d requests: %s", c.Tool, n, response)
		}
		return c.check(&r, response)
	}
}

// check returns an error if the call came to something else than it must.
func (c *Call) check(r *reply, response []byte) error {
	if len(r.Result.Content) != 1 || r.Result.Content[0].Text != c.Text || r.Result.IsError {
		return fmt.Errorf("%s came to %s", c.Tool, response)
	}
	return nil
}

func (m modern) list(c *Call) error {
	response, err := m.send("tools/list", "", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`))
	if err != nil {
		return err
	}
	var r struct {
		Result struct {
			Tools []struct {
				Name        string          `json:"name"`
				InputSchema json.RawMessage `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return err
	}
	for _, tool := range r.Result.Tools {
		if tool.Name == "" || len(tool.InputSchema) == 0 {
			return fmt.Errorf("a tool without a name or a schema in %s", response)
		}
	}
	if len(r.Result.Tools) != c.Tools {
		return fmt.Errorf("%d tools, and not %d", len(r.Result.Tools), c.Tools)
	}
	return nil
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

type answer struct {
	Action  string            `json:"action"`
	Content map[string]string `json:"content"`
}

func (c *Call) answers(questions map[string]json.RawMessage) ([]byte, error) {
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

var errNoEvent = errors.New("an event stream without an event")

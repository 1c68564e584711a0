package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// legacy is a client of revision 2025-11-25 over HTTP: a call is one request, whose
// response is a stream, and the answers go over a connection of their own.
type legacy struct {
	calls, answers *httpConn
	headers        string // of its session
	id             int
}

const legacyVersion = "2025-11-25"

// LegacyHTTP connects to a server at /mcp, and begins a session.
func LegacyHTTP(address string) (Client, error) {
	l := &legacy{headers: "Mcp-Protocol-Version: " + legacyVersion + "\r\n"}
	var err error
	if l.calls, err = dialHTTP(address); err != nil {
		return nil, err
	}
	if l.answers, err = dialHTTP(address); err != nil {
		return nil, errors.Join(err, l.calls.Close())
	}
	if err := l.initialize(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *legacy) Close() error { return errors.Join(l.calls.Close(), l.answers.Close()) }

func (l *legacy) initialize() error {
	res, err := l.calls.post("", []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+legacyVersion+
		`","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"client","version":"1"}}}`))
	if err != nil {
		return err
	}
	body, err := io.ReadAll(res.Body)
	if session := res.Header.Get("Mcp-Session-Id"); err == nil && session != "" {
		l.headers += "Mcp-Session-Id: " + session + "\r\n"
		return l.tell([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	return errors.Join(err, fmt.Errorf("no session: %s: %s", res.Status, body))
}

// tell sends a message that has no response.
func (l *legacy) tell(message []byte) error {
	res, err := l.answers.post(l.headers, message)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("%s: %s", res.Status, body)
	}
	return err
}

// Make makes a call. Its requests are itself and the answers.
func (l *legacy) Make(c *Call) error {
	l.id++
	res, err := l.calls.post(l.headers, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, l.id, c.Tool, c.Arguments))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if !isStream(res) {
		body, err := io.ReadAll(res.Body)
		return errors.Join(err, fmt.Errorf("no stream: %s: %s", res.Status, body))
	}
	requests, last := 1, []byte(nil)
	for rest := bufio.NewReader(res.Body); ; {
		line, err := rest.ReadBytes('\n')
		if data := eventData(line); data != nil {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
				Params struct {
					RequestedSchema struct {
						Properties map[string]json.RawMessage `json:"properties"`
					} `json:"requestedSchema"`
				} `json:"params"`
			}
			if err := json.Unmarshal(data, &m); err != nil {
				return fmt.Errorf("%w in %q", err, data)
			}
			switch m.Method {
			case "elicitation/create":
				requests++
				if err := l.answer(c, m.ID, m.Params.RequestedSchema.Properties); err != nil {
					return err
				}
			case "":
				last = bytes.Clone(data)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	var r reply
	if err := json.Unmarshal(last, &r); err != nil || requests != c.Requests {
		return fmt.Errorf("%s ended after %d requests: %q: %w", c.Tool, requests, last, err)
	}
	return c.check(&r, last)
}

func (l *legacy) answer(c *Call, id json.RawMessage, properties map[string]json.RawMessage) error {
	said := answer{"accept", map[string]string{}}
	for key := range properties {
		value, ok := c.Answers[key]
		if !ok {
			return fmt.Errorf("%s asks %q, which nobody expected", c.Tool, key)
		}
		said.Content[key] = value
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "result": said})
	if err != nil {
		return err
	}
	return l.tell(text)
}

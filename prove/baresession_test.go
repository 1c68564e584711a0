package prove_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is one connection to an instance.
type session struct {
	*instance
	conn   mcp.Connection
	who    string
	legacy bool
	caps   map[string]any

	mu    sync.Mutex
	asked map[string]chan json.RawMessage
	calls sync.WaitGroup
}

func (s *session) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer s.calls.Wait()
	defer cancel()
	for {
		m, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *jsonrpc.Request:
			if m.IsCall() {
				s.calls.Go(func() { s.respond(ctx, m) })
			}
		case *jsonrpc.Response:
			s.mu.Lock()
			asked := s.asked[fmt.Sprint(m.ID.Raw())]
			s.mu.Unlock()
			if asked != nil {
				asked <- m.Result
			}
		}
	}
}

func (s *session) respond(ctx context.Context, m *jsonrpc.Request) {
	defer func() {
		if r := recover(); r != nil {
			if _, crashed := r.(gone); !crashed {
				panic(r)
			}
		}
	}()
	result, err := s.handle(ctx, m)
	if result == silent {
		return
	}
	response := &jsonrpc.Response{ID: m.ID, Error: err}
	if err == nil {
		response.Result = json.RawMessage(digest(result))
	}
	_ = s.conn.Write(ctx, response) // the client may be gone
	if s.world.is("result/one-answer") {
		_ = s.conn.Write(ctx, response)
	}
}

// silent is no result: the request is not answered.
var silent any = new(int)

type object = map[string]any

// params are those of a call, with the parts whose type a client may get wrong
// left as they came.
type params struct {
	Meta      map[string]json.RawMessage `json:"_meta"`
	Name      any                        `json:"name"`
	Arguments any                        `json:"arguments"`
	State     any                        `json:"requestState"`
	Responses any                        `json:"inputResponses"`

	ProtocolVersion string `json:"protocolVersion"`
	Capabilities    object `json:"capabilities"`
}

func (s *session) handle(ctx context.Context, m *jsonrpc.Request) (any, error) {
	var p params
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, refusal(-32602, "params do not read")
	}
	caps := s.caps
	for name, value := range p.Meta {
		if strings.HasSuffix(name, "/clientCapabilities") {
			caps = nil
			_ = json.Unmarshal(value, &caps)
		}
	}
	switch m.Method {
	case "initialize":
		s.legacy, s.caps = true, p.Capabilities
		return object{"protocolVersion": "2025-11-25", "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "bare", "version": "1"}}, nil
	case "tools/list":
		return s.list(caps), nil
	case "tools/call":
		return s.call(ctx, p, caps)
	}
	return nil, refusal(-32601, "there is no such method")
}

func (s *session) list(caps object) object {
	tool := func(name string) object {
		return object{
			"name": name, "inputSchema": object{"type": "object", "required": []string{"to"}, "additionalProperties": false, "properties": object{"to": object{"type": "string"}}},
			"outputSchema": object{"type": "object", "required": []string{"amount"}, "properties": object{"amount": object{"type": "string"}}},
		}
	}
	tools := []object{tool("pay"), tool("refund")}
	if s.world.is("client/same-list") && len(caps) == 0 {
		tools = tools[:1]
	}
	return s.typed(object{"tools": tools}, "complete")
}

// typed adds the resultType, which legacy revisions do not have.
func (s *session) typed(result object, kind string) object {
	if !s.legacy {
		result["resultType"] = kind
	}
	return result
}

func (s *session) done(amount, to, when string) any {
	structured := object{"amount": amount}
	if s.world.is("result/output") {
		structured = object{"amount": 7}
	}
	kind := "complete"
	if s.world.is("result/schema") {
		kind = "done"
	}
	text := "Paid " + amount + " to " + to + " " + when + "."
	if s.world.design == numbered {
		receipt := s.world.next()
		text, structured["receipt"] = text+" Receipt: "+receipt+".", receipt
	}
	return s.typed(object{"content": []object{{"type": "text", "text": text}}, "structuredContent": structured}, kind)
}

func (s *session) text(text string, failed bool) any {
	if s.world.design == numbered && !failed {
		text += " Reference: " + s.world.next() + "."
	}
	failed = failed || s.world.design == failingNo
	return s.typed(object{"content": []object{{"type": "text", "text": text}}, "isError": failed}, "complete")
}

func (s *session) form(key string) object {
	property := object{"type": "string", "enum": choices[key]}
	properties := object{key: property}
	if s.world.is("result/questions") {
		properties["address"] = object{"type": "object"}
	}
	return object{"mode": "form", "message": "The " + key + "?", "requestedSchema": object{"type": "object", "required": []string{key}, "properties": properties}}
}

var keys = []string{"amount", "when"}

var choices = map[string][]string{"amount": {"10", "20"}, "when": {"today", "tomorrow"}}

func (s *session) ask(state sealed) any {
	key := keys[state.Round]
	state.Until = s.world.now() + time.Minute
	form := s.form(key)
	switch s.world.design {
	case freshKeys:
		state.Asked = key + "-" + s.world.next()
		key = state.Asked
	case worded:
		form["message"] = fmt.Sprint("For ", s.world.next(), ": ", form["message"])
	}
	return s.typed(object{"inputRequests": object{key: object{"method": "elicitation/create", "params": form}}, "requestState": s.seal(state)}, "input_required")
}

func (w *world) now() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

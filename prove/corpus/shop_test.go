package corpus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type object = map[string]any

// design is one correct way to build the shop.
type design struct {
	name  string
	codec string
	marks string // what is peculiar to it, with blanks between
}

func (d design) has(mark string) bool { return slices.Contains(strings.Fields(d.marks), mark) }

// deployment is what instances with the same secret share.
type deployment struct {
	mu      sync.Mutex
	effects map[string]int
	handles map[string]claims
	ledger  map[string]*sale
	ahead   int64 // of the clock
	calls   int
	latest  claims
}

// sale is a call that was claimed.
type sale struct {
	done   chan struct{}
	result object
	by     *instance
	at     int64
}

func newDeployment() *deployment {
	return &deployment{effects: map[string]int{}, handles: map[string]claims{}, ledger: map[string]*sale{}}
}

// instance is one process of the shop.
type instance struct {
	design design
	change change
	secret string
	shared *deployment
	seen   *steps // nil if nobody wants to know
}

// request are the params of a call, and who makes it.
type request struct {
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"arguments"`
	State     json.RawMessage `json:"requestState"`
	Responses json.RawMessage `json:"inputResponses"`
	Meta      struct {
		Capabilities object `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`

	user, event, state string
	responses          object
}

// refused is a JSON-RPC error.
func refused(code int64, message string, data any) error {
	raw, _ := json.Marshal(data)
	return &jsonrpc.Error{Code: code, Message: message, Data: raw}
}

var errArguments = refused(-32602, "bad arguments", nil)

// read takes the request apart, and validates it.
func (in *instance) read(r *request) error {
	var args object
	if json.Unmarshal(r.Args, &args) != nil || args == nil {
		if in.op("either", "arguments-object") != "" {
			args = object{"event": "lunch"}
		} else {
			return errArguments
		}
	}
	event, isText := args["event"].(string)
	r.event = event
	known := len(args) == 1
	late := len(r.State) > 0 && in.op("check", "arguments-later") == "drop"
	if !late {
		if !isText || !in.check("event-length", len(event) >= 3 && len(event) <= 20) || !in.check("event-only", known) {
			in.nothing("bad-arguments", claims{Event: event})
			return errArguments
		}
	}
	if len(r.State) > 0 && json.Unmarshal(r.State, &r.state) != nil {
		return refused(-32602, "bad state", nil)
	}
	if len(r.Responses) > 0 && json.Unmarshal(r.Responses, &r.responses) != nil {
		return errArguments
	}
	return nil
}

// call is one request of a call.
func (in *instance) call(r *request) (object, error) {
	if r.Name != "buy" && r.Name != "buy_again" {
		if in.op("code", "unknown-tool") != "" {
			return in.text("no such tool", true), nil
		}
		return nil, refused(-32602, "unknown tool", nil)
	}
	if err := in.read(r); err != nil {
		return nil, err
	}
	in.shared.mu.Lock()
	in.shared.calls++
	calls := in.shared.calls
	in.shared.mu.Unlock()
	if in.design.has("rate") && calls%23 == 0 {
		return nil, refused(429, "slow down", nil)
	}
	if r.state == "" {
		c := claims{Call: rand.Text(), Tool: r.Name, Event: r.event, User: r.user}
		if in.design.has("one") {
			c.Seats = 2
		}
		in.nothing("first-request", c)
		if !in.check("no-answers-first", r.responses == nil) {
			r.responses = nil
		} else if r.responses != nil {
			c.Step, c.Seats = 1, 2
			return in.goOn(c, r)
		}
		if in.design.has("occasional") && calls%3 == 1 && in.able(r) {
			return in.text("There are no seats left.", false), nil
		}
		return in.ask(c, r)
	}
	c, err := in.open(r.state)
	if in.op("either", "bad-state") != "" && err != nil {
		c, err = claims{Call: rand.Text(), Tool: r.Name, Event: r.event, User: r.user, Until: in.now() + 600, Step: 1, Seats: 2}, nil
	}
	good := err == nil && in.check("user", c.User == r.user) && in.equal("event", r.event, c.Event) &&
		in.check("tool", c.Tool == r.Name) && in.check("time", c.Until > in.now())
	if !good {
		in.nothing("refused-state", c)
		if in.design.has("tells") {
			return in.text("That link is not good any more.", false), nil
		}
		return nil, refused(-32602, "bad state", nil)
	}
	return in.goOn(c, r)
}

// able reports whether the client can be asked.
func (in *instance) able(r *request) bool {
	elicitation, declared := r.Meta.Capabilities["elicitation"].(object)
	_, form := elicitation["form"]
	return in.check("declared", declared) && in.check("form-mode", !declared || form || len(elicitation) == 0)
}

// ask asks the question of the step.
func (in *instance) ask(c claims, r *request) (object, error) {
	later := r.state != "" && in.op("check", "declared-later") == "drop"
	if !later && !in.able(r) {
		in.nothing("unable", c)
		var data any = object{"requiredCapabilities": object{"elicitation": object{"form": object{}}}}
		if in.op("part", "capability-data") != "" {
			data = nil
		}
		code := int64(-32021)
		if in.op("code", "capability-code") != "" {
			code = -32602
		}
		return nil, refused(code, "the client cannot be asked", data)
	}
	if c.Tries > 3 {
		in.nothing("given-up", c)
		return in.text("Nobody answered.", true), nil
	}
	key, params := in.question(c)
	requests := object{key: object{"method": "elicitation/create", "params": params}}
	return object{"resultType": "input_required", "inputRequests": requests, "requestState": in.seal(c)}, nil
}

// words vary where the design has it so.
func (in *instance) words(all ...string) string {
	if !in.design.has("words") {
		return all[0]
	}
	in.shared.mu.Lock()
	defer in.shared.mu.Unlock()
	return all[(in.shared.calls*7+len(in.shared.handles))%len(all)]
}

func (in *instance) price(c claims) int { return 5 * c.Seats }

// question is what a step asks.
func (in *instance) question(c claims) (key string, params object) {
	form := func(message string, required []string, properties object) object {
		return object{"mode": "form", "message": message, "requestedSchema": object{"type": "object", "required": required, "properties": properties}}
	}
	switch in.steps()[c.Step] {
	case "seats":
		return in.keyOf(c, "seats"), form(in.words("How many seats?", "Well. How many seats?", "Please say: how many seats?"), []string{"seats"},
			object{"seats": object{"type": "integer", "minimum": 1, "maximum": 20}, "diet": object{"type": "string", "enum": []string{"any", "vegan"}}})
	case "note":
		return in.keyOf(c, "note"), form("Anything to add?", nil, object{"note": object{"type": "string", "maxLength": 40}})
	}
	message := fmt.Sprintf("%s %d seats for %s at %d EUR?", in.words("Pay", "So: pay", "Now, pay"), c.Seats, c.Event, in.price(c))
	switch {
	case in.design.has("nein"):
		return in.keyOf(c, "antwort"), form(message, []string{"antwort"}, object{"antwort": object{"type": "string", "enum": []string{"Nein", "Ja"}}})
	case in.design.has("phrase"):
		return in.keyOf(c, "typed"), form(message+" Type the name of the event.", []string{"typed"}, object{"typed": object{"type": "string", "const": "PAY NOW"}})
	}
	return in.keyOf(c, "sure"), form(message, []string{"sure"}, object{"sure": object{"type": "boolean", "title": "Pay"}})
}

// keyOf is the key of a question, which may be another in each call.
func (in *instance) keyOf(c claims, name string) string {
	if in.design.has("keys") {
		return name + "-" + c.Call[:6]
	}
	return name
}

func (in *instance) steps() []string {
	switch {
	case in.design.has("one"):
		return []string{"sure"}
	case in.design.has("optional"):
		return []string{"seats", "note", "sure"}
	}
	return []string{"seats", "sure"}
}

// goOn takes the answer of a step.
func (in *instance) goOn(c claims, r *request) (object, error) {
	c.Step = min(c.Step, len(in.steps())-1)
	key, _ := in.question(c)
	response, given := r.responses[key]
	if in.op("either", "key") != "" && !given {
		for _, response = range r.responses {
			given = true
		}
	}
	answer, isObject := response.(object)
	if !given || !isObject {
		if in.op("code", "missing-answer") != "" {
			return nil, errArguments
		}
		return in.again(c, r)
	}
	action, _ := answer["action"].(string)
	step := in.steps()[c.Step]
	switch {
	case action == "decline" && (step == "note" || in.op("check", "decline-"+step) != "drop"):
		if step == "note" {
			return in.accepted(c, r, object{})
		}
		in.nothing("declined-"+step, c)
		return in.declined("declined")
	case action == "cancel" && (step == "note" || in.op("check", "cancel-"+step) != "drop"):
		in.nothing("cancelled-"+step, c)
		return in.declined("cancelled")
	case action != "decline" && action != "cancel" && !in.equal("action-"+step, action, "accept"):
		return in.again(c, r)
	}
	content, isObject := answer["content"].(object)
	if !isObject && action == "accept" {
		return in.again(c, r)
	}
	return in.accepted(c, r, content)
}

func (in *instance) declined(how string) (object, error) {
	text := "Nothing was bought: you " + how + "."
	return in.text(in.words(text, "Well. "+text, "As you like. "+text), in.design.has("decline-error")), nil
}

// again asks once more.
func (in *instance) again(c claims, r *request) (object, error) {
	c.Tries++
	in.nothing("asked-again", c)
	if in.op("memory", "tries") != "" && c.Tries > 2 {
		return in.sell(c, r) // it stops asking
	}
	return in.ask(c, r)
}

// accepted reads the content of an accepted form.
func (in *instance) accepted(c claims, r *request, content object) (object, error) {
	switch in.steps()[c.Step] {
	case "seats":
		seats, whole := in.whole("seats", content["seats"])
		diet, isText := content["diet"].(string)
		fits := content["diet"] == nil || isText && (in.equal("diet", diet, "any") || in.equal("diet", diet, "vegan"))
		if !whole || !in.bounds("seats-bounds", seats, 1, 20) || !fits {
			return in.again(c, r)
		}
		c.Seats = int(seats)
	case "note":
		note, isText := content["note"].(string)
		if content["note"] != nil && (!in.check("note-text", isText) || !in.check("note-length", len(note) <= 40)) {
			return in.again(c, r)
		}
		c.Note = note
	default:
		return in.consent(c, r, content)
	}
	c.Step, c.Tries = c.Step+1, 0
	in.nothing("between", c)
	in.shared.mu.Lock()
	in.shared.latest = c
	in.shared.mu.Unlock()
	if answers := r.responses[in.keyOf(c, "sure")]; answers != nil && in.op("check", "one-at-a-time") == "drop" {
		return in.goOn(c, r)
	}
	return in.ask(c, r)
}

// consent takes one value for a yes.
func (in *instance) consent(c claims, r *request, content object) (object, error) {
	yes, fits := false, false
	switch {
	case in.design.has("nein"):
		text, _ := content["antwort"].(string)
		yes = in.equal("answer-text", text, "Ja")
		fits = text == "Ja" || text == "Nein" || yes
	case in.design.has("phrase"):
		text, _ := content["typed"].(string)
		yes = in.equal("answer-text", text, "PAY NOW")
		fits = yes
	default:
		yes, fits = in.truth("sure", content["sure"])
	}
	switch {
	case !fits:
		return in.again(c, r)
	case !in.design.has("phrase") && !in.either("yes", yes):
		in.nothing("said-no", c)
		return in.declined("said no")
	}
	if in.op("memory", "extras") != "" { // whatever the form brings
		if n, ok := content["amount"].(float64); ok {
			c.Seats = int(n)
		}
	}
	return in.sell(c, r)
}

// charge is the name of the effect, with its amount.
func (in *instance) charge(c claims) string {
	amount, currency := in.price(c), "EUR"
	switch in.op("amount", "amount") {
	case "double":
		amount *= 2
	case "round":
		amount = (amount/4 + 1) * 4
	case "currency":
		currency = "USD"
	case "hundred":
		amount = 100
	}
	return fmt.Sprintf("charge amount=%d currency=%s", amount, currency)
}

// sell claims the call, and charges once.
func (in *instance) sell(c claims, r *request) (object, error) {
	if in.op("memory", "latest-call") != "" {
		time.Sleep(2 * time.Millisecond)
		in.shared.mu.Lock()
		c.Seats, c.Event = in.shared.latest.Seats, in.shared.latest.Event
		in.shared.mu.Unlock()
	}
	id := c.Call
	if in.op("id", "by-state") != "" {
		id = r.state // each state is a call of its own
	}
	if in.op("id", "by-answers") != "" {
		raw, _ := json.Marshal(r.responses)
		id += string(raw)
	}
	mine := &sale{done: make(chan struct{}), by: in, at: in.now()}
	in.shared.mu.Lock()
	before := in.shared.ledger[id]
	late := in.op("claim", "claim") == "delay"
	if before == nil && !late {
		in.shared.ledger[id] = mine
	}
	in.shared.mu.Unlock()
	foreign := before != nil && before.by != in && in.op("claim", "claim") == "per-instance"
	if before != nil && in.op("claim", "claim") != "drop" && !foreign {
		<-before.done
		in.nothing("repeated", c)
		if in.design.has("refuses") || in.design.has("grace") && in.now()-before.at > 60 {
			return nil, refused(-32602, "that was sold already", nil)
		}
		return before.result, nil
	}
	time.Sleep(5 * time.Millisecond)
	in.effect("charge", in.charge(c))
	text := fmt.Sprintf("Paid %d seats for %s.", c.Seats, c.Event)
	if in.design.has("stock") {
		text += fmt.Sprintf(" Receipt %s, %s.", rand.Text()[:8], time.Now().Format(time.TimeOnly))
	}
	if in.design.has("queue") {
		text = "Queued: " + text
	}
	mine.result = in.text(in.words(text, "Done! "+text, "All is well. "+text), false)
	if late {
		in.shared.mu.Lock()
		in.shared.ledger[id] = mine
		in.shared.mu.Unlock()
	}
	close(mine.done)
	return mine.result, nil
}

// text is a result.
func (in *instance) text(text string, isError bool) object {
	return object{"resultType": "complete", "content": []object{{"type": "text", "text": text}}, "isError": isError}
}

// dial opens a connection to the instance.
func (in *instance) dial(user string) mcp.Transport {
	here, there := mcp.NewInMemoryTransports()
	go func() {
		conn, err := here.Connect(context.Background())
		if err != nil {
			return
		}
		for {
			m, err := conn.Read(context.Background())
			if err != nil {
				_ = conn.Close()
				return
			}
			if r, ok := m.(*jsonrpc.Request); ok && r.ID.IsValid() {
				go in.answer(conn, r, user)
			}
		}
	}()
	return there
}

// answer answers one request.
func (in *instance) answer(conn mcp.Connection, m *jsonrpc.Request, user string) {
	var result object
	var err error
	switch m.Method {
	case "tools/list":
		schema := object{"type": "object", "additionalProperties": false, "required": []string{"event"},
			"properties": object{"event": object{"type": "string", "minLength": 3, "maxLength": 20, "examples": []string{"lunch"}}}}
		result = object{"resultType": "complete", "tools": []object{{"name": "buy", "inputSchema": schema}, {"name": "buy_again", "inputSchema": schema}}, "ttlMs": 0, "cacheScope": "private"}
	case "tools/call":
		r := &request{user: user}
		if json.Unmarshal(m.Params, r) != nil {
			err = errArguments
		} else {
			result, err = in.call(r)
		}
	default:
		err = refused(-32601, "unknown method", nil)
	}
	if in.op("part", "result-type") != "" {
		result = maps.Clone(result)
		delete(result, "resultType")
	}
	response := &jsonrpc.Response{ID: m.ID, Error: err}
	if err == nil {
		response.Result, _ = json.Marshal(result)
	}
	_ = conn.Write(context.Background(), response)
	if in.op("whole", "response") != "" {
		_ = conn.Write(context.Background(), response)
	}
}

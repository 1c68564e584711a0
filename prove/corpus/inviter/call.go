package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

type object = map[string]any

// request are the params of a call, and who makes it.
type request struct {
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"arguments"`
	State     json.RawMessage `json:"requestState"`
	Responses json.RawMessage `json:"inputResponses"`
	Meta      struct {
		Capabilities object `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`

	user      string
	event     string
	state     string
	responses object
}

// refusal is a JSON-RPC error.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (r *refusal) Error() string { return r.Message }

var errArguments, errState = &refusal{Code: -32602, Message: "bad arguments"}, &refusal{Code: -32602, Message: "bad state"}

func (r *request) read() error {
	var args map[string]json.RawMessage
	if json.Unmarshal(r.Args, &args) != nil || json.Unmarshal(args["event"], &r.event) != nil || r.event == "" {
		return errArguments
	}
	if len(r.State) > 0 && json.Unmarshal(r.State, &r.state) != nil {
		return errState
	}
	if len(r.Responses) > 0 && json.Unmarshal(r.Responses, &r.responses) != nil {
		return errArguments
	}
	return nil
}

// claims are what a state says.
type claims struct {
	Call, Tool, Event, User string
	Step, Tries             int
	Seats                   int
	Diet                    string
	Until                   int64
}

func (in *instance) steps() []string {
	if in.design == "roots" {
		return []string{"roots", "seats", "sure"}
	}
	return []string{"seats", "sure"}
}

func (in *instance) call(r *request) (object, error) {
	if r.Name != "invite" && r.Name != "uninvite" {
		return nil, &refusal{Code: -32602, Message: "unknown tool"}
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	if in.has("deferred") && r.state != "" {
		defer in.effect() // whatever comes of it
	}
	if r.state == "" {
		c := claims{Call: rand.Text(), Tool: r.Name, Event: r.event, User: r.user}
		in.latest.Store(&c)
		if in.has("starts-with-answers") && r.responses != nil {
			return in.goOn(c, r)
		}
		return in.ask(c, r)
	}
	c, err := in.open(r.state)
	if in.has("ignored-error") && err != nil {
		c, err = claims{Tool: r.Name, Event: r.event, User: r.user, Until: in.now() + 1}, nil
	}
	late := c.Until < in.now() && !in.has("never-late")
	stolen := c.User != r.user && !in.has("any-user")
	moved := c.Event != r.event && !in.has("any-event") || c.Tool != r.Name && !in.has("any-tool")
	if err != nil || late || stolen || moved {
		if in.design == "restarts" {
			r.state, r.responses = "", nil
			return in.ask(claims{Call: rand.Text(), Tool: r.Name, Event: r.event, User: r.user}, r)
		}
		return nil, errState
	}
	if in.has("latest-call") {
		c.Event, c.Seats = in.latest.Load().Event, max(c.Seats, in.latest.Load().Seats)
	}
	if in.design != "store" {
		return in.goOn(c, r)
	}
	return in.once(c, r)
}

// once remembers the result of a call, for each time that it comes again.
func (in *instance) once(c claims, r *request) (object, error) {
	id := c.Call
	if in.has("once-per-state") {
		id = r.state
	}
	in.shared.Lock()
	result := in.shared.results[id]
	if !in.has("unlocked") {
		defer in.shared.Unlock()
	} else {
		in.shared.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
	if result != nil && !in.has("never-remembers") {
		return result, nil
	}
	result, err := in.goOn(c, r)
	if err == nil && result["resultType"] == "complete" {
		if in.has("unlocked") {
			in.shared.Lock()
			defer in.shared.Unlock()
		}
		in.shared.results[id] = result
	}
	return result, err
}

func (in *instance) ask(c claims, r *request) (object, error) {
	step := in.steps()[c.Step]
	need := object{"elicitation": object{"form": object{}}}
	if step == "roots" {
		need = object{"roots": object{}}
	}
	able := c.Step+c.Tries > 0 && in.has("first-round-only") || in.has("no-gate")
	if elicitation, ok := r.Meta.Capabilities["elicitation"].(object); ok && step != "roots" {
		able = able || len(elicitation) == 0 || elicitation["form"] != nil || in.has("any-elicitation")
	}
	if step == "roots" {
		able = able || r.Meta.Capabilities["roots"] != nil
	}
	if !able {
		if in.has("invites-unasked") {
			in.effect()
		}
		code := -32021
		if in.has("own-code") {
			code = 1050
		}
		return nil, &refusal{code, "the client cannot be asked", object{"requiredCapabilities": need}}
	}
	if c.Tries > 3 {
		return in.text("Nobody answered.", true), nil
	}
	question := object{"method": "roots/list"}
	if step != "roots" {
		question = object{"method": "elicitation/create", "params": in.form(step, c)}
	}
	return object{"resultType": "input_required", "inputRequests": object{step: question}, "requestState": in.seal(c)}, nil
}

func (in *instance) form(step string, c claims) object {
	properties := object{"sure": object{"type": "boolean", "title": "Send it"}}
	required := []string{"sure"}
	message := "Send the invitations?"
	if step == "seats" {
		properties = object{"seats": object{"type": "integer", "minimum": 1, "maximum": 20}, "diet": object{"type": "string", "enum": []string{"any", "vegan"}}}
		required, message = []string{"seats"}, "How many seats?"
	}
	if in.design == "varying" {
		message = pick("Well. ", "Now, one question. ", "Please say: ") + message
	}
	if in.has("no-message") {
		message = ""
	}
	return object{"mode": "form", "message": message, "requestedSchema": object{"type": "object", "required": required, "properties": properties}}
}

var picked atomic.Int64

// pick varies the words.
func pick(words ...string) string { return words[picked.Add(1)/2%int64(len(words))] }

func (in *instance) goOn(c claims, r *request) (object, error) {
	step := in.steps()[c.Step]
	response, given := r.responses[step]
	if in.has("only-answer") && len(r.responses) == 1 {
		for _, response = range r.responses {
			given = true
		}
	}
	answer, isObject := response.(object)
	again := func() (object, error) {
		c.Tries++
		if in.has("again-invites") {
			in.effect()
		}
		return in.ask(c, r)
	}
	if !given || !isObject && !in.has("ok-ignored") {
		if in.has("missing-is-error") {
			return nil, errArguments
		}
		return again()
	}
	if step == "roots" {
		if _, ok := answer["roots"].([]any); !ok && !in.has("any-roots") {
			return again()
		}
		c.Step, c.Tries = c.Step+1, 0
		return in.ask(c, r)
	}
	switch action, _ := answer["action"].(string); {
	case action == "decline" && !in.has("cancel-only") || action == "cancel" && !in.has("decline-only"):
		return in.text("Nobody was invited.", false), nil
	case action != "accept" && !in.has("default-accepts", "decline-only", "cancel-only", "ok-ignored"):
		return again()
	}
	content, isObject := answer["content"].(object)
	if !isObject && !in.has("default-accepts", "decline-only", "cancel-only", "ok-ignored") {
		return again()
	}
	if in.has("all-contents") {
		content = maps.Clone(content)
		for _, key := range slices.Sorted(maps.Keys(r.responses)) {
			other, _ := r.responses[key].(object)
			more, _ := other["content"].(object)
			maps.Copy(content, more)
		}
	}
	if step == "sure" {
		sure, isBool := content["sure"].(bool)
		if seats, has := content["seats"].(float64); has && in.has("all-contents") {
			c.Seats = int(seats)
		}
		switch {
		case !isBool && !in.has("ok-ignored", "default-accepts", "decline-only", "cancel-only"):
			return again()
		case !sure && !in.has("no-is-yes", "default-accepts", "decline-only", "cancel-only"):
			return in.text("Nobody was invited.", false), nil
		}
		return in.invite(c)
	}
	seats, isNumber := content["seats"].(float64)
	whole := seats == float64(int(seats)) || in.has("truncates")
	within := seats >= 1 && seats <= 20 || in.has("any-seats") || seats <= 20 && in.has("no-least")
	diet, isText := content["diet"].(string)
	chosen := content["diet"] == nil || isText && (diet == "any" || diet == "vegan" || in.has("any-diet"))
	if !(isNumber && whole && within && chosen) && !in.has("ok-ignored", "default-accepts", "decline-only", "cancel-only") {
		return again()
	}
	c.Step, c.Tries, c.Seats, c.Diet = c.Step+1, 0, int(seats), diet
	in.latest.Store(&c)
	if in.has("starts-with-answers") && r.responses["sure"] != nil {
		return in.goOn(c, r)
	}
	return in.ask(c, r)
}

func (in *instance) invite(c claims) (object, error) {
	if in.has("shared-variable") {
		in.latest.Store(&c)
		time.Sleep(2 * time.Millisecond)
		c = *in.latest.Load()
	}
	left := 1000 - in.effect()*c.Seats
	text := fmt.Sprintf("Invited %d to %s%s.", c.Seats, c.Event, map[bool]string{true: ", all vegan"}[c.Diet == "vegan"])
	switch in.design {
	case "varying":
		text = pick("Done! ", "All is well, and everybody knows. ", "") + text
	case "stock":
		text += fmt.Sprintf(" There are %d seats left at %s.", left, time.Now().Format(time.TimeOnly))
	}
	return in.text(text, false), nil
}

func (in *instance) text(text string, isError bool) object {
	kind := "complete"
	if in.has("no-kind") {
		kind = ""
	}
	return object{"resultType": kind, "content": []object{{"type": "text", "text": text}}, "isError": isError}
}

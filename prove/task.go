package prove

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/wire"
)

// tasksExtension is what client and server declare (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

// offersTasks reports whether the server declares the extension.
func (t *trial) offersTasks(c *wire.Client) bool {
	s := t.discover(c)
	var discovered struct {
		Capabilities struct {
			Extensions map[string]json.RawMessage `json:"extensions"`
		} `json:"capabilities"`
	}
	return s.reply != nil && json.Unmarshal(s.reply.Result, &discovered) == nil && discovered.Capabilities.Extensions[tasksExtension] != nil
}

// view is a task as an answer to a request about it shows it.
type view struct {
	exchange
	ID      string          `json:"taskId"`
	Status  string          `json:"status"`
	TTL     *int64          `json:"ttlMs"`
	Created string          `json:"createdAt"`
	Result  json.RawMessage `json:"result"`
	Error   *jsonrpc.Error  `json:"error"`
}

func (v view) ended() bool {
	return slices.Contains([]string{"completed", "failed", "cancelled"}, v.Status)
}

func (v view) asks() bool { return v.Status == "input_required" }

// end is the reply that a client by round trips would have had.
func (v view) end() exchange {
	res := &jsonrpc.Response{Result: v.Result}
	if v.Error != nil {
		res = &jsonrpc.Response{Error: v.Error}
	}
	s := exchange{request: v.request}
	s.reply, s.err = readReply(res)
	return s
}

// taker is a client that takes tasks.
func (t *trial) taker() *wire.Client {
	return t.dial(t.subject.Dial, t.subject.First, &wire.Options{TakesTasks: true})
}

// about sends a request about a task.
func (t *trial) about(c *wire.Client, method, id string, params map[string]any) view {
	all := map[string]any{"_meta": c.Meta(), "taskId": id}
	maps.Copy(all, params)
	return t.viewed(t.send(c, wire.Request{Method: method, Params: all}))
}

func (t *trial) viewed(s exchange) view {
	v := view{exchange: s}
	if s.reply != nil && s.reply.Error == nil && json.Unmarshal(s.reply.Result, &v) != nil {
		t.failAt(s, "the task does not read: %s", s.raw())
	}
	return v
}

// create makes a call that becomes a task.
func (t *trial) create(c *wire.Client) view {
	if !t.tasks {
		t.skip("needs a server that offers tasks")
	}
	v := t.viewed(t.send(c, t.request(t.scenario.Arguments)))
	t.answered(v.exchange)
	if v.reply.ResultType != "task" {
		t.skip("needs a call that becomes a task at once")
	}
	if v.ID == "" {
		t.failAt(v.exchange, "a task without an id")
	}
	return v
}

// pollEvery is often enough for a proof, and seldom enough for a server.
const pollEvery = 20 * time.Millisecond

// poll reads a task until it has come as far as it is waited for. See is shown every reply.
func (t *trial) poll(c *wire.Client, id string, until func(view) bool, see ...func(view)) view {
	grace := time.Now().Add(min(t.patience, time.Second)) // that it is there at once is a rule of its own
	for end := time.Now().Add(t.patience); ; time.Sleep(pollEvery) {
		v := t.about(c, "tasks/get", id, nil)
		t.answered(v.exchange)
		if v.protocol() {
			if time.Now().After(grace) {
				t.failAt(v.exchange, "the task is gone")
			}
			continue
		}
		for _, f := range see {
			f(v)
		}
		switch {
		case until(v):
			return v
		case !v.asks() && !v.ended() && v.Status != "working":
			t.failAt(v.exchange, "a task of status %q", v.Status)
		case time.Now().After(end):
			t.failAt(v.exchange, "the task is still %q after %v", v.Status, t.patience)
		}
	}
}

// awaits polls a task until it asks or has ended.
func (t *trial) awaits(c *wire.Client, id string, see ...func(view)) view {
	return t.poll(c, id, func(v view) bool { return v.asks() || v.ended() }, see...)
}

// responses are honest answers to what a task asks.
func (t *trial) responses(v view) map[string]any {
	responses := map[string]any{}
	for _, q := range v.reply.Asks {
		responses[q.Key] = t.asHonest(q)
	}
	return responses
}

func (t *trial) update(c *wire.Client, id string, responses map[string]any) view {
	v := t.about(c, "tasks/update", id, map[string]any{"inputResponses": responses})
	t.answered(v.exchange)
	return v
}

// proceed answers a task that asks, and waits until it has gone on.
func (t *trial) proceed(c *wire.Client, v view, responses map[string]any, see ...func(view)) view {
	if s := t.update(c, v.task(), responses); s.protocol() {
		t.failAt(s.exchange, "the answers are refused")
	}
	return t.await(c, v, see...)
}

// await waits until a task has gone on from what it asked.
func (t *trial) await(c *wire.Client, v view, see ...func(view)) view {
	return t.poll(c, v.task(), func(now view) bool { return now.ended() || now.asks() && !sameKeys(v, now) }, see...)
}

// task is the id of the task that a view is about.
func (v view) task() string {
	if params, ok := v.request.Params.(map[string]any); ok {
		if id, ok := params["taskId"].(string); ok {
			return id
		}
	}
	return v.ID
}

func sameKeys(a, b view) bool {
	return slices.EqualFunc(a.reply.Asks, b.reply.Asks, func(a, b wire.Question) bool { return a.Key == b.Key })
}

// playTask takes a task from its creation to its end.
func (t *trial) playTask(c *wire.Client, see ...func(view)) (id string, end view) {
	created := t.create(c)
	for _, f := range see {
		f(created)
	}
	v := t.awaits(c, created.ID, see...)
	for rounds := 0; v.asks(); rounds++ {
		if rounds == maxRounds {
			t.failAt(v.exchange, "the task still asks after %d rounds", maxRounds)
		}
		v = t.proceed(c, v, t.responses(v), see...)
	}
	return created.ID, v
}

// asking is a task at its first question.
func (t *trial) asking(c *wire.Client) view {
	v := t.awaits(c, t.create(c).ID)
	if !v.asks() {
		t.skip("needs a task that asks")
	}
	return v
}

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// tasksExtension is what a client declares that takes tasks (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

// withTasks declares the extension beside what the client can be asked. Capabilities that are
// no object stay as they are.
func withTasks(c Capabilities) Capabilities {
	var members map[string]any
	if json.Unmarshal([]byte(c), &members) != nil || members == nil {
		return c
	}
	extensions, _ := members["extensions"].(map[string]any)
	if extensions == nil {
		extensions = map[string]any{}
	}
	extensions[tasksExtension] = struct{}{}
	members["extensions"] = extensions
	whole, err := json.Marshal(members)
	if err != nil {
		return c
	}
	return Capabilities(whole)
}

// ErrCancelled is the end of a task that was cancelled.
var ErrCancelled = errors.New("wire: the task was cancelled")

// The pauses between two polls of a task that works.
const (
	firstPause = time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// settle follows a call that became a task: it polls until the task asks or has ended, and
// returns the reply that a client by round trips would have had. Any other reply is returned
// as it is.
func (c *Client) settle(ctx context.Context, reply *Reply) (*Reply, error) {
	if reply.ResultType != "task" {
		return reply, nil
	}
	var created struct {
		TaskID string `json:"taskId"`
	}
	if err := json.Unmarshal(reply.Result, &created); err != nil || created.TaskID == "" {
		return nil, errors.New("wire: a task without an id")
	}
	return c.Poll(ctx, created.TaskID)
}

// answerTask sends answers to a task, and polls on.
func (c *Client) answerTask(ctx context.Context, r Request) (*Reply, error) {
	if r.Responses == nil {
		r.Responses = map[string]any{} // an update without answers still names them
	}
	params := map[string]any{"_meta": c.Meta(), "taskId": r.Task, "inputResponses": r.Responses}
	res, err := c.Exchange(ctx, Request{Method: "tasks/update", Params: params})
	if err != nil {
		return nil, err
	}
	if res.Error != nil {
		return ReadReply(res)
	}
	return c.Poll(ctx, r.Task)
}

// Poll asks for a task until it asks or has ended. A reply that asks names the task.
func (c *Client) Poll(ctx context.Context, id string) (*Reply, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		res, err := c.Exchange(ctx, Request{Method: "tasks/get", Params: map[string]any{"_meta": c.Meta(), "taskId": id}})
		if err != nil {
			return nil, err
		}
		if res.Error != nil {
			return ReadReply(res)
		}
		reply, ended, err := readTask(id, res.Result)
		if err != nil || ended {
			return reply, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readTask reads the result of tasks/get. It has not ended while the task works.
func readTask(id string, result json.RawMessage) (_ *Reply, ended bool, _ error) {
	var task struct {
		Status        string                  `json:"status"`
		InputRequests map[string]inputRequest `json:"inputRequests"`
		Result        json.RawMessage         `json:"result"`
		Error         *jsonrpc.Error          `json:"error"`
	}
	if err := json.Unmarshal(result, &task); err != nil {
		return nil, false, fmt.Errorf("wire: reading a task: %w", err)
	}
	switch task.Status {
	case "working":
		return nil, false, nil
	case "input_required":
		reply := &Reply{Result: result, Task: id, Asks: questionsOf(task.InputRequests), incomplete: true}
		for i := range reply.Asks {
			reply.Asks[i].unnumber()
		}
		return reply, true, nil
	case "completed":
		reply, err := ReadReply(&jsonrpc.Response{Result: task.Result})
		return reply, true, err
	case "failed":
		if task.Error != nil {
			return &Reply{Error: task.Error}, true, nil
		}
	case "cancelled":
		return nil, true, ErrCancelled
	}
	return nil, true, fmt.Errorf("wire: a task of status %q: %s", task.Status, result)
}

// unnumber finds the key that a question has for its handler: a key is used once in the
// life of a task, so that package tasks adds the number of the round.
func (q *Question) unnumber() {
	q.numbered = q.Key
	if i := strings.LastIndexByte(q.Key, '-'); i > 0 {
		q.Key = q.Key[:i]
	}
}

// WithoutPolls leaves out the polls that found the task working: how many there are is a
// matter of time.
func WithoutPolls(messages []Message) []Message {
	read := func(m Message) (id, status string) {
		var fields struct {
			ID     json.RawMessage `json:"id"`
			Result struct {
				Status string `json:"status"`
			} `json:"result"`
		}
		_ = json.Unmarshal(m.JSON, &fields) // the client encoded it
		return string(fields.ID), fields.Result.Status
	}
	polls, inVain := map[string]bool{}, map[string]bool{} // by id
	for _, m := range messages {
		id, status := read(m)
		if m.Sent && m.Method == "tasks/get" {
			polls[id] = true
		}
		if !m.Sent && polls[id] && status == "working" {
			inVain[id] = true
		}
	}
	return slices.DeleteFunc(messages, func(m Message) bool {
		id, _ := read(m)
		return inVain[id]
	})
}

package tasks

import (
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/sse/era"
)

// Extension is the name of the extension, in the capabilities of clients and servers.
const Extension = callerror.TasksExtension

const (
	toolsCall   = "tools/call"
	tasksGet    = "tasks/get"
	tasksUpdate = "tasks/update"
	tasksCancel = "tasks/cancel"
)

// status is how far a task is.
type status string

const (
	working       status = "working"
	inputRequired status = "input_required"
	completed     status = "completed"
	failed        status = "failed"
	cancelled     status = "cancelled"
)

func (s status) terminal() bool { return s == completed || s == failed || s == cancelled }

// params are those of the three methods. The members are read later, since one of another
// type than it should be is an error of its own for each method.
type params struct {
	mcp.ParamsBase
	TaskID         json.RawMessage `json:"taskId"`
	InputResponses json.RawMessage `json:"inputResponses,omitempty"`
}

// taskID is the id that a request names, "" where it names none.
func (p *params) taskID() (id string) {
	if json.Unmarshal(p.TaskID, &id) != nil {
		return ""
	}
	return id
}

// responses are the answers of a request by their keys, each as it arrived.
func (p *params) responses() (answers map[string]json.RawMessage, ok bool) {
	if json.Unmarshal(p.InputResponses, &answers) != nil || answers == nil {
		return nil, false
	}
	return answers, true
}

// readable reports whether an answer is of some shape that go-sdk knows.
func readable(answer json.RawMessage) bool {
	var as mcp.InputResponseMap
	one, err := json.Marshal(map[string]json.RawMessage{"answer": answer})
	return err == nil && json.Unmarshal(one, &as) == nil && as["answer"] != nil
}

// taskResult is the result of tools/call that is a task, and of tasks/get, and the params of
// notifications/tasks.
type taskResult struct {
	mcp.ResultBase
	ResultType     string                     `json:"resultType,omitempty"` // "" in a notification
	TaskID         string                     `json:"taskId"`
	Status         status                     `json:"status"`
	StatusMessage  string                     `json:"statusMessage,omitempty"`
	CreatedAt      string                     `json:"createdAt"`
	LastUpdatedAt  string                     `json:"lastUpdatedAt"`
	TTLMs          int64                      `json:"ttlMs"`
	PollIntervalMs int64                      `json:"pollIntervalMs"`
	InputRequests  map[string]json.RawMessage `json:"inputRequests,omitempty"`
	Result         json.RawMessage            `json:"result,omitempty"`
	Error          json.RawMessage            `json:"error,omitempty"`
}

// acknowledged is the result of tasks/update and tasks/cancel.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

func acknowledge() *acknowledged { return &acknowledged{ResultType: "complete"} }

// timestamp is a time as the extension writes it.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// declares reports whether the client of a request takes tasks. A request says so itself:
// what its session declared once does not count.
func declares(req mcp.Request) bool {
	meta := metaOf(req)
	if version, _ := meta[mcp.MetaKeyProtocolVersion].(string); version < era.FirstModern {
		return false
	}
	var extensions map[string]any
	switch c := meta[mcp.MetaKeyClientCapabilities].(type) {
	case map[string]any:
		extensions, _ = c["extensions"].(map[string]any)
	case *mcp.ClientCapabilities:
		if c != nil {
			extensions = c.Extensions
		}
	}
	_, declared := extensions[Extension]
	return declared
}

func metaOf(req mcp.Request) map[string]any {
	if req.GetParams() == nil {
		return nil
	}
	return req.GetParams().GetMeta()
}

// unknownTask is the one answer to every id that is not one of a task of the caller's, so
// that nobody learns more by trying.
func unknownTask() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Failed to retrieve task: Task not found"}
}

func badResponses() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: inputResponses is no object"}
}

func needsExtension() error { return callerror.NeedsTasks() }

// storeFailed answers a request whose task cannot be read or written now.
func storeFailed() error {
	return callerror.NotBegun("The server cannot reach its tasks now. Send the same request again.", "store_unavailable")
}

package mcphttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/rpcerror"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// hopHeader names the routers that a request has passed, each by a random text of its
// process, so that nobody but the router itself can have it refused.
const hopHeader = "Mrtr-Router"

// lostError is the error of a request that no instance answered.
type lostError struct {
	error           // of the instance that was tried last
	instances  int  // those that were lost after they may have begun
	remembered bool // the store knows how far they came
}

func (e *lostError) Unwrap() error { return e.error }

// refuseLost answers the calls of a request that no instance answered.
func refuseLost(w http.ResponseWriter, r *http.Request, err error) {
	to, _ := r.Context().Value(routedKey{}).(routed)
	refusal := rpcerror.Retryable("This request was not begun: no instance could be reached. Send the same request again.", "unreachable")
	var lost *lostError
	if errors.As(err, &lost) && lost.instances > 0 {
		text := "The instance that served this request was lost, and nobody knows how far it came."
		if lost.remembered {
			text = "The instance that ran this round was lost. Send the same request again for its result."
		}
		refusal = rpcerror.Retryable(text, "instance_lost")
	}
	// As the engine's own -31001, it is a response like any other. Clients do not read
	// the body of a 502.
	if !answerCalls(w, to.body, http.StatusOK, refusal) {
		http.Error(w, "no instance answered", http.StatusBadGateway)
	}
}

var errLoop = errors.New("this router is one of its own instances")

// refuseLoop answers a request that the router has sent to itself. Its operator has to
// correct the addresses.
func refuseLoop(w http.ResponseWriter, body []byte) {
	var refusal *jsonrpc.Error
	errors.As(rpcerror.Fault(errLoop, "router_loop"), &refusal)
	if !answerCalls(w, body, http.StatusLoopDetected, refusal) {
		http.Error(w, errLoop.Error(), http.StatusLoopDetected)
	}
}

// answerCalls answers each call of a body with an error, under its id as it came. It
// reports false, and writes nothing, if the body holds no call.
func answerCalls(w http.ResponseWriter, body []byte, status int, refusal *jsonrpc.Error) bool {
	calls := readPosted(body)
	text, err := json.Marshal(refusal)
	if len(calls.ids) == 0 || err != nil {
		return false
	}
	answers := make([][]byte, len(calls.ids))
	for i, id := range calls.ids {
		answers[i] = slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"error":`), text, []byte(`}`))
	}
	answer := bytes.Join(answers, []byte(","))
	if calls.batch {
		answer = slices.Concat([]byte("["), answer, []byte("]"))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer) // who does not read it hears nothing
	return true
}

// posted are the facts about a body whose instance is gone.
type posted struct {
	ids   []json.RawMessage // of its calls, as they were spelled
	batch bool
	// repeatable: there are calls, and all of them can be sent to instances with one
	// store twice.
	repeatable bool
}

// readMethods are those that have no effect.
var readMethods = []string{"ping", "server/discover", "initialize",
	"tools/list", "prompts/list", "resources/list", "resources/templates/list"}

// roundMethods are those whose calls have rounds.
var roundMethods = []string{"tools/call", "prompts/get", "resources/read"}

// readPosted reads a body, and finds no calls in one that go-sdk would not read.
func readPosted(body []byte) posted {
	parts, err := split(body)
	if err != nil {
		return posted{}
	}
	found := posted{batch: bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")), repeatable: true}
	for _, part := range parts {
		var id, params []byte
		method := ""
		w := jsontext.Walk(part, jsontext.MaxDepth)
		for name := range w.Members {
			switch string(name) {
			case "id":
				id = w.Value()
			case "method":
				_ = json.Unmarshal(w.Value(), &method) // what is no text names no method
			case "params":
				params = w.Value()
			}
		}
		if method == "" || len(id) == 0 || bytes.IndexByte([]byte(`"-0123456789`), id[0]) < 0 {
			found.repeatable = false // a notification, or an answer
			continue
		}
		found.ids = append(found.ids, id)
		found.repeatable = found.repeatable && (slices.Contains(readMethods, method) || isLaterRound(method, params))
	}
	return found
}

// isLaterRound reports whether a call goes on with a state, so that a store has its round.
func isLaterRound(method string, params []byte) bool {
	if !slices.Contains(roundMethods, method) || len(params) == 0 {
		return false
	}
	state, _ := message.Text(params, "requestState")
	return state != ""
}

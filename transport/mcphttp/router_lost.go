package mcphttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/jsontext"
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
	refusal := callerror.NotBegun("This request was not begun: no instance could be reached. Send the same request again.", "unreachable")
	var lost *lostError
	if errors.As(err, &lost) && lost.instances > 0 {
		refusal = instanceLost(lost.remembered)
	}
	// As the engine's own -31001, it is a response like any other. Clients do not read
	// the body of a 502.
	if !answerCalls(w, to.body, http.StatusOK, refusal) {
		http.Error(w, "no instance answered", http.StatusBadGateway)
	}
}

func instanceLost(remembered bool) *jsonrpc.Error {
	text := "The instance that served this request was lost, and nobody knows how far it came."
	if remembered {
		text = "The instance that ran this round was lost. Send the same request again for its result."
	}
	return callerror.NotBegun(text, "instance_lost")
}

var errLoop = errors.New("this router is one of its own instances")

// refuseLoop answers a request that the router has sent to itself. Its operator has to
// correct the addresses.
func refuseLoop(w http.ResponseWriter, body []byte) {
	var refusal *jsonrpc.Error
	errors.As(callerror.Fault(errLoop, "router_loop"), &refusal)
	if !answerCalls(w, body, http.StatusLoopDetected, refusal) {
		http.Error(w, errLoop.Error(), http.StatusLoopDetected)
	}
}

// answerCalls answers each call of a body with an error, under its id as it came. It
// reports false, and writes nothing, if the body holds no call.
func answerCalls(w http.ResponseWriter, body []byte, status int, refusal *jsonrpc.Error) bool {
	calls := readPosted(body)
	answers := calls.answers(refusal)
	if len(answers) == 0 {
		return false
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

// mendedStream has a stream of events end well. If its instance is lost between two events,
// the calls are answered as those without a response are: the client can go on with that,
// and not with a connection that breaks. An answer that it has already got it drops.
func mendedStream(r *http.Request, res *http.Response, body []byte) *http.Response {
	if r.Method == http.MethodPost && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		res.Body = &eventStream{ReadCloser: res.Body, request: r, body: body, between: true}
	}
	return res
}

type eventStream struct {
	io.ReadCloser
	request *http.Request
	body    []byte // of the request
	between bool   // the last byte ended an event
	newline bool   // the last byte ended a line
	end     io.Reader
}

func (s *eventStream) Read(p []byte) (int, error) {
	if s.end != nil {
		return s.end.Read(p)
	}
	n, err := s.ReadCloser.Read(p)
	for _, b := range p[:n] {
		if b != '\r' {
			s.between, s.newline = b == '\n' && s.newline, b == '\n'
		}
	}
	if err == nil || err == io.EOF || !s.between || s.request.Context().Err() != nil {
		return n, err
	}
	calls := readPosted(s.body)
	var events []byte
	for _, answer := range calls.answers(instanceLost(calls.repeatable)) {
		events = append(events, message.Event(answer)...)
	}
	s.end = bytes.NewReader(events)
	return n, nil
}

// posted are the facts about a body whose instance is gone.
type posted struct {
	ids   []json.RawMessage // of its calls, as they were spelled
	batch bool
	// repeatable: there are calls, and all of them can be sent to instances with one
	// store twice.
	repeatable bool
}

// answers has an error for each call.
func (p posted) answers(refusal *jsonrpc.Error) [][]byte {
	text, err := json.Marshal(refusal)
	if err != nil {
		return nil // it is one of ours
	}
	answers := make([][]byte, len(p.ids))
	for i, id := range p.ids {
		answers[i] = slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"error":`), text, []byte(`}`))
	}
	return answers
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

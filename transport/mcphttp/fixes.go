package mcphttp

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

const (
	headerPrefix      = "Mcp-"
	nameHeader        = "Mcp-Name"
	lastEventIDHeader = "Last-Event-Id" // as net/http spells it

	base64Prefix = "=?base64?"
	base64Suffix = "?="
)

// disagreement is the name of a header of the protocol that the request repeats
// with another value; "" if there is none. go-sdk takes the first value, while
// a proxy in front of the server may have judged the request by the last.
func disagreement(header http.Header) string {
	for name, values := range header {
		if len(values) < 2 || !strings.HasPrefix(name, headerPrefix) {
			continue
		}
		if slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
			return name
		}
	}
	return ""
}

// refuseDisagreement answers a request whose headers contradict each other: with
// the protocol's error for headers if one of its versions is modern, and in
// plain text else.
func refuseDisagreement(w http.ResponseWriter, r *http.Request, name string) {
	refusedBy(w, byAmbiguity)
	message := fmt.Sprintf("header mismatch: the request has two values of %s", name)
	if !slices.ContainsFunc(r.Header.Values(versionHeader), func(v string) bool { return v >= era.FirstModern }) {
		http.Error(w, message, http.StatusBadRequest)
		return
	}
	writeError(w, nil, mcp.CodeHeaderMismatch, message)
}

// fixHeaders gives go-sdk the headers of a modern POST as it reads them. A name
// in base64 is decoded, which go-sdk does for Mcp-Param headers alone. Last-Event-ID
// is left out, which go-sdk refuses: there is nothing to resume in that revision,
// and a client that sends it anyway is to be served.
func fixHeaders(r *http.Request) *http.Request {
	name, encoded := decodeHeader(r.Header.Get(nameHeader))
	resumes := r.Method == http.MethodPost && len(r.Header.Values(lastEventIDHeader)) > 0
	if !encoded && !resumes {
		return r
	}
	r = r.Clone(r.Context()) // the caller's request stays as it came
	if encoded {
		r.Header.Set(nameHeader, name)
	}
	if resumes {
		r.Header.Del(lastEventIDHeader)
	}
	return r
}

// decodeHeader reads a value in base64. An invalid one is left to go-sdk,
// which compares it as it is and refuses it.
func decodeHeader(value string) (string, bool) {
	text, ok := strings.CutPrefix(value, base64Prefix)
	if !ok {
		return "", false
	}
	if text, ok = strings.CutSuffix(text, base64Suffix); !ok {
		return "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	return string(decoded), err == nil
}

// writeError answers with a JSON-RPC error. id is the request's as it was sent,
// nil if it is not known.
func writeError(w http.ResponseWriter, id json.RawMessage, code int64, message string) {
	writeRefusal(w, id, &jsonrpc.Error{Code: code, Message: message})
}

func writeRefusal(w http.ResponseWriter, id json.RawMessage, why *jsonrpc.Error) {
	body, _ := json.Marshal(struct { // whose encoding cannot fail
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, why})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(body) // the client may be gone
}

// undecodable begins the message with which go-sdk refuses params that it cannot
// decode, when it looks in them for the name that the header must repeat.
const undecodable = "failed to extract name from parameters"

// A paramsWriter replaces that refusal. Its code says that the headers are wrong,
// so the client would fix the headers, which are right; the code for params is -32602, which
// go-sdk itself gives over any other transport.
type paramsWriter struct {
	http.ResponseWriter
	refused bool
}

// Unwrap leads [http.ResponseController] to the writer that flushes.
func (w *paramsWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *paramsWriter) WriteHeader(status int) {
	w.refused = status == http.StatusBadRequest
	w.ResponseWriter.WriteHeader(status)
}

func (w *paramsWriter) Write(p []byte) (int, error) {
	if w.refused && bytes.Contains(p, []byte(undecodable)) {
		if fixed := fixRefusal(p); fixed != nil {
			_, err := w.ResponseWriter.Write(fixed)
			return len(p), err
		}
	}
	return w.ResponseWriter.Write(p)
}

// fixRefusal is nil if the body is another one: a client chooses some of the
// text of an error.
func fixRefusal(body []byte) []byte {
	message, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return nil
	}
	res, ok := message.(*jsonrpc.Response)
	if !ok {
		return nil
	}
	refusal, ok := res.Error.(*jsonrpc.Error)
	if !ok || refusal.Code != mcp.CodeHeaderMismatch || !bytes.HasPrefix([]byte(refusal.Message), []byte(undecodable)) {
		return nil
	}
	res.Error = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: they do not decode"}
	fixed, err := jsonrpc.EncodeMessage(res)
	if err != nil {
		return nil
	}
	return fixed
}

// refuseOtherTask reports whether it has refused a request for a task whose header does not
// name it. go-sdk compares the header for methods of its own alone, and a proxy in front of
// the server may route a request by it.
func refuseOtherTask(w http.ResponseWriter, r *http.Request, messages []json.RawMessage) bool {
	switch r.Header.Get(methodHeader) {
	case "tasks/get", "tasks/update", "tasks/cancel":
	default:
		return false
	}
	// go-sdk refuses a batch, and what is no message.
	task, named := message.Text(message.Member(messages[0], "params"), "taskId")
	if !named || r.Header.Get(nameHeader) == task { // the method refuses a request without an id
		return false
	}
	writeError(w, idOf(messages[0]), mcp.CodeHeaderMismatch, "header mismatch: "+nameHeader+" is not the taskId of the request")
	return true
}

// wholeFloats bounds the numbers that a float64 holds one by one.
const wholeFloats = 1 << 53

// refuseAltered reports whether it has refused messages with an id that go-sdk would
// alter.
func refuseAltered(w http.ResponseWriter, messages []json.RawMessage) bool {
	id := alteredID(messages)
	if id == nil {
		return false
	}
	writeError(w, id, jsonrpc.CodeInvalidRequest, "invalid id: "+
		"a number must be whole and within 2^53, or its answer cannot be told from others; use a string")
	return true
}

// alteredID is the first id that go-sdk would answer under another
// value; nil if there is none. It reads a number as a float64 and cuts off its
// fraction, so a client that counts beyond 2^53 never recognizes the answer, and
// two requests of a session become one. Such a call is refused before it has an
// effect.
func alteredID(messages []json.RawMessage) json.RawMessage {
	for _, message := range messages {
		if id := idOf(message); !survives(id) {
			return id
		}
	}
	return nil
}

func idOf(raw []byte) json.RawMessage { return message.Member(raw, "id") }

// survives reports whether go-sdk keeps the value of an id. Null, a string and
// values that are no id at all are not this function's matter.
func survives(id json.RawMessage) bool {
	if len(id) == 0 || id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return true
	}
	f, err := strconv.ParseFloat(string(id), 64)
	if err != nil || !message.IsInteger(id) {
		return false
	}
	if math.Abs(f) < wholeFloats {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && f < math.MaxInt64 && int64(f) == n
}

// settle refuses messages that are ambiguous or cost too much to read. For a call it
// writes the refusal, and reports so. The answer of a legacy client becomes an error, so that its
// question ends, and arguments that are null become an object: then it returns the body
// that go-sdk is to get instead.
func settle(w http.ResponseWriter, messages []json.RawMessage, batch bool) (body []byte, refused bool) {
	for i, raw := range messages {
		refusal := message.Refusal(raw)
		if refusal == nil {
			continue
		}
		decoded, _ := message.Decode(raw)
		if answer, ok := decoded.(*jsonrpc.Response); ok {
			if failure, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: answer.ID, Error: refusal}); err == nil {
				messages[i] = failure
				continue
			}
		}
		writeError(w, idOf(raw), refusal.Code, refusal.Message)
		return nil, true
	}
	return joined(messages, batch), false
}

func joined(messages []json.RawMessage, batch bool) []byte {
	if !batch {
		return messages[0]
	}
	parts := make([][]byte, len(messages))
	for i, raw := range messages {
		parts[i] = raw
	}
	return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
}

// dropLate has messages cancel nothing whose calls are not in flight any more, and reports
// whether there were any. go-sdk cancels after it has answered, and could hit the next
// call of the session under that id.
func (h *Handler) dropLate(r *http.Request, messages []json.RawMessage, cancels map[int]jsonrpc.ID) (dropped bool) {
	for i, id := range cancels {
		if !h.sessions.runs(r.Header.Get(sessionHeader), id) {
			messages[i], dropped = json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"`+rand.Text()+`"}}`), true
		}
	}
	return dropped
}

// A callsWriter replaces the plain text with which go-sdk refuses a legacy POST for one of
// its messages, such as an unknown method. Its client would take the connection for
// broken. Each call gets an error of its own.
type callsWriter struct {
	http.ResponseWriter
	messages []json.RawMessage
	batch    bool
	held     bool // a header that would begin such a text
}

// Unwrap leads [http.ResponseController] to the writer that flushes.
func (w *callsWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *callsWriter) WriteHeader(status int) {
	if w.held = status == http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"); !w.held {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *callsWriter) Write(p []byte) (int, error) {
	if !w.held {
		return w.ResponseWriter.Write(p)
	}
	w.held = false
	text := strings.TrimSpace(string(p))
	var errs [][]byte
	if strings.HasPrefix(text, notHandled) || strings.HasPrefix(text, notValid) {
		errs = w.refuse(text)
	}
	if len(errs) == 0 {
		w.ResponseWriter.WriteHeader(http.StatusBadRequest)
		return w.ResponseWriter.Write(p)
	}
	w.Header().Set("Content-Type", "application/json")
	w.ResponseWriter.WriteHeader(http.StatusOK)
	body := errs[0]
	if w.batch {
		body = slices.Concat([]byte("["), bytes.Join(errs, []byte(",")), []byte("]"))
	}
	_, err := w.ResponseWriter.Write(body)
	return len(p), err
}

// The texts with which go-sdk begins such a refusal: of an unknown method, and of a
// message that lacks what its method needs.
const (
	notHandled = "JSON RPC not handled"
	notValid   = "invalid request"
)

// refuse are the errors of the calls. All of a batch are refused for one of them.
func (w *callsWriter) refuse(text string) (errs [][]byte) {
	for _, raw := range w.messages {
		decoded, _ := jsonrpc.DecodeMessage(raw)
		call, ok := decoded.(*jsonrpc.Request)
		if !ok || !call.IsCall() {
			continue
		}
		why := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
		if text == fmt.Sprintf("%s: %q unsupported", notHandled, call.Method) {
			why = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q unsupported", call.Method)}
		}
		if body, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: call.ID, Error: why}); err == nil {
			errs = append(errs, body)
		}
	}
	return errs
}

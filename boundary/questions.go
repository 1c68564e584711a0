package boundary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// plainAsking makes the parts of an input_required result plain, or says why it
// cannot be sent. One that go-sdk did not stamp as input_required is for a client
// that cannot be asked again: it would read there as an empty success. A state without
// questions is valid: it makes the client call again.
func (c *call) plainAsking(meta *mcp.Meta, questions *mcp.InputRequestMap, state string, stamped bool) *failure {
	switch {
	case len(*questions) == 0 && state == "":
		return malformed("the result asks for input but holds neither a question nor a requestState")
	case !utf8.ValidString(state):
		return malformed("the requestState is not UTF-8, so that it would come back changed")
	}
	var err error
	if *questions, err = plainQuestions(*questions); err != nil {
		return malformed(err.Error())
	}
	if *meta, err = plainMeta(*meta); err != nil {
		return malformed(err.Error())
	}
	if !stamped {
		return &failure{
			kind:  "input_unsupported",
			text:  "The " + c.kind.attr + " needs another answer from the user, and this client cannot be asked for it.",
			cause: "a legacy client was left with a further round of questions",
		}
	}
	return nil
}

// plainQuestions returns the questions without any code of the author's.
func plainQuestions(questions mcp.InputRequestMap) (mcp.InputRequestMap, error) {
	made := make(mcp.InputRequestMap, len(questions))
	for key, q := range questions {
		if isNil(q) {
			return nil, errors.New("the result holds a nil question")
		}
		var err error
		if made[key], err = plainQuestion(q); err != nil {
			return nil, fmt.Errorf("question %q: %w", key, err)
		}
	}
	return made, nil
}

func plainQuestion(q mcp.InputRequest) (mcp.InputRequest, error) {
	if form, ok := copiedForm(q); ok {
		return form, nil
	}
	text, err := encoded("any", mcp.InputRequestMap{"": q}) // which knows the method, and the mode of a form
	if err != nil {
		return nil, err
	}
	var asked map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(text, &asked); err != nil {
		return nil, err
	}
	text = asked[""].Params
	if _, err := encoded(asked[""].Method, text); err != nil {
		return nil, err
	}
	made := reflect.New(reflect.TypeOf(q).Elem()).Interface().(mcp.InputRequest)
	if err := json.Unmarshal(text, made); err != nil {
		return nil, err
	}
	if form, ok := made.(*mcp.ElicitParams); ok && form.Mode == "form" {
		form.RequestedSchema = formIn(text)
	}
	return made, nil
}

// copiedForm copies the usual question, whose schema is JSON already.
func copiedForm(q mcp.InputRequest) (*mcp.ElicitParams, bool) {
	form, ok := q.(*mcp.ElicitParams)
	if !ok || form.Mode != "form" || form.Meta != nil || form.URL != "" || form.ElicitationID != "" {
		return nil, false
	}
	schema, ok := form.RequestedSchema.(json.RawMessage)
	if !ok || !knownForms.fits(schema) {
		return nil, false
	}
	made := *form
	made.RequestedSchema = json.RawMessage(bytes.Clone(schema))
	return &made, true
}

// A formMemory knows the schemas that were found to be forms: most questions have the same
// words for everybody, and to judge their schema costs more than all else about them.
type formMemory struct {
	mu    sync.RWMutex // guards forms
	forms map[string]struct{}
}

var knownForms formMemory

const (
	maxForms     = 1 << 10
	maxFormBytes = 1 << 10 // of one that is kept
)

func (m *formMemory) fits(schema json.RawMessage) bool {
	m.mu.RLock()
	_, known := m.forms[string(schema)]
	m.mu.RUnlock()
	if known {
		return true
	}
	if sendable(schema) != nil || !specification()["form"].Fits(schema) {
		return false
	}
	if len(schema) <= maxFormBytes {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.forms = withRoom(m.forms, maxForms)
		m.forms[string(schema)] = struct{}{}
	}
	return true
}

// formIn is the schema of a form as its author wrote it: the order of the fields counts. One
// is required on the wire, and go-sdk would omit it.
func formIn(text json.RawMessage) json.RawMessage {
	var params struct {
		RequestedSchema json.RawMessage `json:"requestedSchema"`
	}
	if json.Unmarshal(text, &params) != nil || params.RequestedSchema == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return params.RequestedSchema
}

// sendQuestions is sending middleware. It notes that the call asked its client
// something, since running the handler again would ask again, and it sends a question
// only if that is well-formed, and without any code of the author's: go-sdk may ask a
// legacy client from a goroutine of its own, where nothing recovers a panic.
func sendQuestions(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c := callFrom(ctx)
		if c == nil || !slices.Contains([]string{"elicitation/create", "sampling/createMessage", "roots/list"}, method) {
			return next(ctx, method, req)
		}
		c.leave(asked)
		made, err := recovering(func() (mcp.Params, error) { return settled(req.GetParams()) })
		if err != nil {
			return nil, &unasked{err}
		}
		if session, ok := req.GetSession().(*mcp.ServerSession); ok && made != nil {
			req = &mcp.ServerRequest[mcp.Params]{Session: session, Params: made}
		}
		return next(ctx, method, req)
	}
}

// unasked is the error of a question that cannot be sent. Its cause may be a panic of the
// author's code, and is for the log.
type unasked struct{ cause error }

func (*unasked) Error() string   { return "The question was not asked because of a fault in the server." }
func (u *unasked) Unwrap() error { return u.cause }

// settled is a plain copy of a question, or nil for params that are none. go-sdk
// encodes the schema of a form once more after the answer, so one with code in it
// becomes plain in place as well. A plain one does not: its author may share it
// between calls.
func settled(params mcp.Params) (mcp.Params, error) {
	q, ok := params.(mcp.InputRequest)
	if !ok || isNil(q) {
		return nil, nil
	}
	plain, err := plainQuestion(q)
	if err != nil {
		return nil, err
	}
	if own, ok := q.(*mcp.ElicitParams); ok && !isPlain(own.RequestedSchema, maxNesting) {
		own.RequestedSchema = plain.(*mcp.ElicitParams).RequestedSchema
	}
	made, _ := plain.(mcp.Params)
	return made, nil
}

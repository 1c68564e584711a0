package boundary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/snapshot"
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

func plainQuestion(q mcp.InputRequest) (_ mcp.InputRequest, err error) {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		made := *q
		return &made, plainElicit(&made)
	case *mcp.CreateMessageParams:
		made := *q
		made.Messages = make([]*mcp.SamplingMessage, len(q.Messages))
		for i, m := range q.Messages {
			if m == nil {
				return nil, errors.New("a nil message")
			}
			content, err := plainSampling([]mcp.Content{m.Content}, m.Role)
			if err != nil {
				return nil, err
			}
			made.Messages[i] = &mcp.SamplingMessage{Content: content[0], Role: m.Role}
		}
		made.Metadata, err = plainObject(q.Metadata)
		return &made, errors.Join(err, plainSamplingRest(&made.Meta, made.IncludeContext, &made.ModelPreferences, &made.StopSequences))
	case *mcp.CreateMessageWithToolsParams:
		made := *q
		made.Messages = make([]*mcp.SamplingMessageV2, len(q.Messages))
		for i, m := range q.Messages {
			if m == nil {
				return nil, errors.New("a nil message")
			}
			content, err := plainSampling(m.Content, m.Role)
			if err != nil {
				return nil, err
			}
			made.Messages[i] = &mcp.SamplingMessageV2{Content: content, Role: m.Role}
		}
		made.Tools = slices.Clone(q.Tools)
		for i, tool := range made.Tools {
			if made.Tools[i], err = plainTool(tool); err != nil {
				return nil, err
			}
		}
		made.Metadata, err = plainObject(q.Metadata)
		return &made, errors.Join(err, plainSamplingRest(&made.Meta, made.IncludeContext, &made.ModelPreferences, &made.StopSequences))
	case *mcp.ListRootsParams:
		made := *q
		made.Meta, err = plainMeta(q.Meta)
		return &made, err
	}
	return nil, fmt.Errorf("a %T is no question", q)
}

func plainElicit(q *mcp.ElicitParams) (err error) {
	if q.Meta, err = plainMeta(q.Meta); err != nil {
		return err
	}
	schema, err := plainJSON(q.RequestedSchema)
	if err != nil {
		return err
	}
	if schema != nil {
		q.RequestedSchema = schema
	}
	switch {
	case q.Mode == "url" || q.Mode == "" && (q.URL != "" || q.ElicitationID != ""):
		if q.URL == "" {
			return errors.New("it has no URL to open")
		}
		return nil
	case (q.Mode == "form" || q.Mode == "") && schema == nil: // required on the wire, and go-sdk would omit it
		q.RequestedSchema = json.RawMessage(`{"type":"object","properties":{}}`)
		return nil
	case q.Mode == "form" || q.Mode == "":
		return checkForm(schema)
	}
	return fmt.Errorf("there is no mode %q", q.Mode)
}

// checkForm says why a client cannot show a form by this schema: it takes an object
// of simple fields.
func checkForm(raw json.RawMessage) error {
	var schema struct {
		Type       string                      `json:"type"`
		Properties map[string]*json.RawMessage `json:"properties"`
		Required   []string                    `json:"required"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil || schema.Type != "object" || schema.Properties == nil {
		return errors.New("a requestedSchema that is not of type object with properties")
	}
	for name, property := range schema.Properties {
		var p struct {
			Type  string            `json:"type"`
			Enum  []json.RawMessage `json:"enum"`
			Items *struct {
				Enum  []json.RawMessage `json:"enum"`
				AnyOf []json.RawMessage `json:"anyOf"`
			} `json:"items"`
		}
		if property == nil || json.Unmarshal(*property, &p) != nil {
			return fmt.Errorf("property %q is no schema", name)
		}
		switch p.Type {
		case "string", "number", "integer", "boolean":
		case "array":
			if p.Items == nil || p.Items.Enum == nil && p.Items.AnyOf == nil {
				return fmt.Errorf("property %q is a list of something other than choices", name)
			}
		default:
			return fmt.Errorf("property %q is not a string, a number, an integer, a boolean or a list of choices", name)
		}
	}
	return nil
}

func plainObject(v any) (any, error) {
	raw, err := plainJSON(v)
	if err != nil || raw == nil {
		return nil, err
	}
	if raw[0] != '{' {
		return nil, errors.New("metadata that is no object")
	}
	return raw, nil
}

// plainSampling is the content of a sampling message, which may hold a model's use of
// a tool.
func plainSampling(content []mcp.Content, role mcp.Role) ([]mcp.Content, error) {
	if !isRole(role) {
		return nil, errors.New("a message of neither the user nor the assistant")
	}
	made := make([]mcp.Content, len(content))
	for i, block := range content {
		var err error
		switch c := block.(type) {
		case *mcp.ToolUseContent, *mcp.ToolResultContent:
			if isNil(c) {
				return nil, errors.New("a nil block")
			}
			made[i], err = marshalledBlock(c)
		default:
			made[i], err = plainBlock(block)
		}
		if err != nil {
			return nil, err
		}
	}
	return made, nil
}

// A rawBlock is a content block as JSON. The interface it embeds is there for a
// method that go-sdk needs only to decode.
type rawBlock struct {
	mcp.Content
	data json.RawMessage
}

func (r rawBlock) MarshalJSON() ([]byte, error) { return r.data, nil }

func marshalledBlock(block mcp.Content) (mcp.Content, error) {
	data, err := plainJSON(block)
	return rawBlock{data: data}, err
}

func plainTool(tool *mcp.Tool) (_ *mcp.Tool, err error) {
	if tool == nil {
		return nil, errors.New("a nil tool")
	}
	made := *tool
	made.Annotations = snapshot.Of(tool.Annotations)
	if err := plainIcons(&made.Icons); err != nil {
		return nil, err
	}
	for _, schema := range []*any{&made.InputSchema, &made.OutputSchema} {
		if *schema == nil {
			continue
		}
		if *schema, err = plainJSON(*schema); err != nil {
			return nil, err
		}
	}
	made.Meta, err = plainMeta(made.Meta)
	return &made, err
}

func plainSamplingRest(meta *mcp.Meta, include string, preferences **mcp.ModelPreferences, stop *[]string) (err error) {
	switch include {
	case "", "none", "thisServer", "allServers":
	default:
		return fmt.Errorf("there is no context %q to include", include)
	}
	if *preferences != nil {
		if _, err := plainJSON(*preferences); err != nil {
			return err
		}
	}
	*preferences, *stop = snapshot.Of(*preferences), slices.Clone(*stop)
	*meta, err = plainMeta(*meta)
	return err
}

// sendQuestions is sending middleware. It notes that the call asked its client
// something, since running the handler again would ask again, and it sends a question
// only if that is well-formed, and without any code of the author's: go-sdk may ask a
// legacy client from a goroutine of its own, where nothing recovers a panic.
func sendQuestions(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c := callFrom(ctx)
		if c == nil {
			return next(ctx, method, req)
		}
		switch method {
		case "elicitation/create", "sampling/createMessage", "roots/list":
		default:
			return next(ctx, method, req)
		}
		c.leave(asked)
		made, err := settled(req.GetParams())
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
func settled(params mcp.Params) (made mcp.Params, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errors.New("panic: " + printed(v))
		}
	}()
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
	made, _ = plain.(mcp.Params)
	return made, nil
}

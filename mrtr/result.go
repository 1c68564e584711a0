package mrtr

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/mrtr/internal/failure"
)

// outcomeFormat is the version of writeOutcome's encoding.
const outcomeFormat = 1

// writeOutcome is the outcome of a turn as it is remembered: the token of its
// questions, its error, or its result. It is nil for a result that cannot be kept.
func (l *ledger) writeOutcome(out *asked, err error, from round) json.RawMessage {
	switch {
	case out != nil:
		w := beginSaved(len(out.token))
		w.Text("token", out.token)
		return w.End()
	case err != nil:
		failed := failure.Of(err).Encode()
		w := beginSaved(len(failed))
		w.Raw("error", failed)
		return w.End()
	}
	result, err := from.save()
	if err != nil || len(result) > l.rt.memory.maxResult {
		return nil
	}
	w := beginSaved(len(result))
	w.Raw("result", result)
	return w.End()
}

// tryOutcome is writeOutcome where a method of the author's result or error may panic.
func (c *Call) tryOutcome(out *asked, err error, from round) (outcome json.RawMessage, panicked error) {
	panicked = guard(func() error {
		outcome = c.writeOutcome(out, err, from)
		return nil
	})
	return outcome, safeError(panicked)
}

// beginSaved begins an object with room for size bytes beside its names.
func beginSaved(size int) jsontext.Writer {
	return jsontext.Begin(make([]byte, 0, size+64), "v", outcomeFormat)
}

// readOutcome reads what writeOutcome wrote. The questions are made of the state in
// their token, which opens for equal requests alone.
func (c *Call) readOutcome(b json.RawMessage, to round) (*asked, error) {
	if len(b) == 0 {
		return nil, &effectsReported{error: &Error{Reason: ResultNotKept}, effect: effectApplied}
	}
	r, format := jsontext.Open(b, "v")
	token, failed, result := r.Text("token"), r.Raw("error"), r.Raw("result")
	switch {
	case format != outcomeFormat || !r.End():
		return nil, &Error{Reason: ResultNotKept}
	case token != "":
		st, ok, err := c.openState(token)
		if err != nil || !ok {
			return nil, badState()
		}
		requests, err := st.requests(c.ex.client)
		if err != nil {
			return nil, err
		}
		c.tellTask(&st)
		return &asked{requests: requests, token: token}, nil
	case failed != nil:
		f, err := failure.Read(failed)
		if err != nil {
			return nil, &Error{Reason: ResultNotKept}
		}
		return nil, f.Err()
	}
	return nil, to.load(result)
}

// settledJSON encodes v so that decoding and encoding it again gives the same bytes.
// A value that does not survive that, such as one whose type writes more than it reads,
// is replaced by one that does.
func settledJSON[T any](v *T, decode func([]byte) (T, error)) (json.RawMessage, error) {
	saved, err := json.Marshal(v)
	for range 4 {
		if err != nil {
			return nil, err
		}
		back, err := decode(saved)
		if err != nil {
			return nil, err
		}
		again, err := json.Marshal(&back)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(saved, again) {
			return saved, nil
		}
		*v, saved = back, again
	}
	return nil, errUnsettled
}

var errUnsettled = errors.New("the value is another one each time it is decoded and encoded")

// decodeExactly decodes JSON and keeps the digits of numbers that have no type.
func decodeExactly[T any](b []byte) (v T, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// result is the result of a round. A typed tool's has content and _meta of its own beside
// the output, where the output makes them.
type result[Out any] struct {
	out Out
	own *mcp.CallToolResult
}

// resultFormat is how a kind of result is completed and remembered.
type resultFormat[Out any] interface {
	complete(r *result[Out]) error
	save(r *result[Out]) (json.RawMessage, error)
	load(r *result[Out], saved json.RawMessage) error
}

// typedFormat is that of a typed tool.
type typedFormat[Out any] struct {
	hasOwnContent bool // the output may have text, content or _meta of its own
}

func (f typedFormat[Out]) complete(r *result[Out]) (err error) {
	if f.hasOwnContent {
		r.own, err = ownResult(&r.out)
	}
	return err
}

func (typedFormat[Out]) save(r *result[Out]) (json.RawMessage, error) {
	saved, err := settledJSON(&r.out, decodeExactly[Out])
	if err != nil {
		return nil, err
	}
	var own json.RawMessage
	if r.own != nil {
		if own, err = settledJSON(&r.own, decodeOwn); err != nil {
			return nil, err
		}
	}
	w := beginSaved(len(saved) + len(own))
	w.Raw("own", own)
	w.Raw("out", saved)
	return w.End(), nil
}

// decodeOwn keeps a result without content as one: go-sdk fills in that of the output.
func decodeOwn(b []byte) (*mcp.CallToolResult, error) {
	res, err := decodeRaw(b)
	if err == nil && res != nil && len(res.Content) == 0 {
		res.Content = nil
	}
	return res, err
}

func (typedFormat[Out]) load(r *result[Out], saved json.RawMessage) (err error) {
	in, _ := jsontext.Open(saved, "v")
	own, out := in.Raw("own"), in.Raw("out")
	if own != nil {
		if r.own, err = decodeOwn(own); err != nil {
			return err
		}
	}
	r.out, err = decodeExactly[Out](out)
	return err
}

// refuseQuestions refuses a whole result that asks: that of another server, as a gateway gets
// it. Its questions would reach the client with a state that does not open here, so that their
// answers would be refused.
func refuseQuestions(whole any) error {
	asks := false
	switch res := whole.(type) {
	case *mcp.CallToolResult:
		asks = res != nil && (res.NeedsInput() || res.InputRequests != nil || res.RequestState != "")
	case *mcp.GetPromptResult:
		asks = res != nil && (res.NeedsInput() || res.InputRequests != nil || res.RequestState != "")
	case *mcp.ReadResourceResult:
		asks = res != nil && (res.NeedsInput() || res.InputRequests != nil || res.RequestState != "")
	}
	if asks {
		return misuse("the handler returned a result with questions or a state, such as that of another server: ask its questions with Need, Carry its state, and hand both on in the next round")
	}
	return nil
}

// wholeFormat is that of a prompt or resource, whose handler makes the whole result.
type wholeFormat[R any] struct{}

func (wholeFormat[R]) complete(r *result[*R]) error { return refuseQuestions(r.out) }

func (wholeFormat[R]) save(r *result[*R]) (json.RawMessage, error) {
	return settledJSON(&r.out, decodeExactly[*R])
}

func (wholeFormat[R]) load(r *result[*R], saved json.RawMessage) (err error) {
	r.out, err = decodeExactly[*R](saved)
	return err
}

// rawFormat is that of a raw tool. The result may carry an error, which layers outside
// look at.
type rawFormat struct{}

func (rawFormat) complete(r *result[*mcp.CallToolResult]) error { return refuseQuestions(r.out) }

func (rawFormat) save(r *result[*mcp.CallToolResult]) (json.RawMessage, error) {
	var carried error
	if r.out != nil {
		carried = r.out.GetError()
	}
	saved, err := settledJSON(&r.out, decodeRaw)
	if err != nil {
		return nil, err
	}
	w := beginSaved(len(saved))
	if carried != nil {
		w.Raw("error", failure.Of(carried).Encode())
		r.out.SetError(carried) // the result may have been replaced
	}
	w.Raw("out", saved)
	return w.End(), nil
}

func (rawFormat) load(r *result[*mcp.CallToolResult], saved json.RawMessage) (err error) {
	in, _ := jsontext.Open(saved, "v")
	failed := in.Raw("error")
	if r.out, err = decodeRaw(in.Raw("out")); err != nil || failed == nil {
		return err
	}
	f, err := failure.Read(failed)
	if err != nil {
		return err
	}
	r.out.SetError(f.Err())
	return nil
}

// decodeRaw keeps the structured content and the metadata as they were written.
func decodeRaw(b []byte) (*mcp.CallToolResult, error) {
	if isNull(b) {
		return nil, nil
	}
	res := &mcp.CallToolResult{}
	if err := json.Unmarshal(b, res); err != nil {
		return nil, err
	}
	var raw struct {
		Structured json.RawMessage            `json:"structuredContent"`
		Meta       map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	if raw.Structured != nil {
		res.StructuredContent = raw.Structured
	}
	for key, value := range raw.Meta {
		res.Meta[key] = value
	}
	return res, nil
}

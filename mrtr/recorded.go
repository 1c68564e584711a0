package mrtr

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/mrtr/internal/failure"
)

// recordable is where a round puts the result of a call that completes, so that a store
// can remember it. save returns the JSON that the store gets, and load makes a result of
// that JSON again which is the same, byte for byte on the wire. A result that would not be
// the same is replaced by save with one that is.
type recordable interface {
	save() (json.RawMessage, error)
	load(saved json.RawMessage) error
}

// outcomeFormat is the version of writeOutcome's encoding.
const outcomeFormat = 1

// writeOutcome is the outcome of a turn as it is remembered: the token of its
// questions, with a reference in its place where the client gets that; its error; or its
// result. It is nil for a result that cannot be kept.
func (c *Call) writeOutcome(out *asked, reference string, err error, from recordable) json.RawMessage {
	switch {
	case out != nil:
		w := beginSaved(len(reference) + len(out.token))
		if reference == "" {
			w.Text("token", out.token)
			return w.End()
		}
		w.Text("token", reference)
		w.Text("state", out.token)
		return w.End()
	case err != nil:
		failed := failure.Of(err).Encode()
		w := beginSaved(len(failed))
		w.Raw("error", failed)
		return w.End()
	}
	result, err := from.save()
	if err != nil || len(result) > c.rt.memory.maxResult {
		return nil
	}
	w := beginSaved(len(result))
	w.Raw("result", result)
	return w.End()
}

// tryOutcome is writeOutcome where a method of the author's result or error may panic.
func (c *Call) tryOutcome(out *asked, reference string, err error, from recordable) (_ json.RawMessage, panicked error) {
	defer recovered(&panicked)
	return c.writeOutcome(out, reference, err, from), nil
}

// beginSaved begins an object with room for size bytes beside its names.
func beginSaved(size int) jsontext.Writer {
	return jsontext.Begin(make([]byte, 0, size+64), "v", outcomeFormat)
}

// readOutcome reads what writeOutcome wrote. The questions are made of the state in
// their token, which opens for equal requests alone.
func (c *Call) readOutcome(b json.RawMessage, to recordable) (*asked, error) {
	if len(b) == 0 {
		return nil, &effectsTold{error: &Error{Reason: ResultNotKept}, effect: effectApplied}
	}
	saved, ok := readSaved(b)
	switch {
	case !ok:
		return nil, &Error{Reason: ResultNotKept}
	case saved.token != "":
		st, ok, err := c.openState(saved.state)
		if err != nil || !ok {
			return nil, badState()
		}
		requests, err := st.requests()
		if err != nil {
			return nil, err
		}
		return &asked{requests: requests, token: saved.token}, nil
	case saved.failed != nil:
		f, err := failure.Read(saved.failed)
		if err != nil {
			return nil, &Error{Reason: ResultNotKept}
		}
		return nil, f.Err()
	}
	return nil, to.load(saved.result)
}

// savedOutcome is an outcome as it was remembered.
type savedOutcome struct {
	token          string // as the client has it
	state          string // the token, or the one that it is a reference to
	failed, result json.RawMessage
}

func readSaved(b json.RawMessage) (o savedOutcome, ok bool) {
	r, format := jsontext.Open(b, "v")
	o.token = r.Text("token")
	o.state = cmp.Or(r.Text("state"), o.token)
	o.failed, o.result = r.Raw("error"), r.Raw("result")
	return o, format == outcomeFormat && r.End()
}

// settledJSON encodes v so that decoding and encoding it again gives the same bytes.
// A value that does not survive that, such as one whose type writes more than it reads,
// is replaced by one that does.
func settledJSON[T any](v *T, decode func([]byte) (T, error)) (json.RawMessage, error) {
	saved, err := json.Marshal(v)
	if err == nil && (isSteady[T](saved) || isPlainJSON[T](saved)) {
		return saved, nil
	}
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

// isPlainJSON reports whether the JSON of a T survives json.Unmarshal, which is quicker
// than decodeExactly. A value that does also survives decodeExactly, which keeps more.
func isPlainJSON[T any](saved []byte) bool {
	var back T
	if json.Unmarshal(saved, &back) != nil {
		return false
	}
	again, err := json.Marshal(&back)
	return err == nil && bytes.Equal(saved, again)
}

var errUnsettled = errors.New("the value is another one each time it is decoded and encoded")

// decodeExactly decodes JSON and keeps the digits of numbers that have no type.
func decodeExactly[T any](b []byte) (v T, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// typedResult is the result of a typed tool: its output, and the content and _meta of an
// output that has its own.
type typedResult[Out any] struct {
	out Out
	res *mcp.CallToolResult
}

func (k *typedResult[Out]) save() (json.RawMessage, error) {
	saved, err := settledJSON(&k.out, decodeExactly[Out])
	if err != nil {
		return nil, err
	}
	var told json.RawMessage
	if k.res != nil {
		if told, err = settledJSON(&k.res, decodeTold); err != nil {
			return nil, err
		}
	}
	w := beginSaved(len(saved) + len(told))
	w.Raw("told", told)
	w.Raw("out", saved)
	return w.End(), nil
}

// decodeTold keeps a result without content as one: go-sdk fills in that of the output.
func decodeTold(b []byte) (*mcp.CallToolResult, error) {
	res, err := decodeRaw(b)
	if err == nil && res != nil && len(res.Content) == 0 {
		res.Content = nil
	}
	return res, err
}

func (k *typedResult[Out]) load(saved json.RawMessage) (err error) {
	r, _ := jsontext.Open(saved, "v")
	told, out := r.Raw("told"), r.Raw("out")
	if told != nil {
		if k.res, err = decodeTold(told); err != nil {
			return err
		}
	}
	k.out, err = decodeExactly[Out](out)
	return err
}

// wholeResult is a result that the handler makes itself.
type wholeResult[R any] struct{ out *R }

func (k *wholeResult[R]) save() (json.RawMessage, error) {
	return settledJSON(&k.out, decodeExactly[*R])
}

func (k *wholeResult[R]) load(saved json.RawMessage) (err error) {
	k.out, err = decodeExactly[*R](saved)
	return err
}

// rawResult is the result of a raw tool. It may carry an error, which layers outside
// look at.
type rawResult struct{ out *mcp.CallToolResult }

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

func (k *rawResult) save() (json.RawMessage, error) {
	var carried error
	if k.out != nil {
		carried = k.out.GetError()
	}
	saved, err := settledJSON(&k.out, decodeRaw)
	if err != nil {
		return nil, err
	}
	w := beginSaved(len(saved))
	if carried != nil {
		w.Raw("error", failure.Of(carried).Encode())
		k.out.SetError(carried) // the result may have been replaced
	}
	w.Raw("out", saved)
	return w.End(), nil
}

func (k *rawResult) load(saved json.RawMessage) (err error) {
	r, _ := jsontext.Open(saved, "v")
	failed := r.Raw("error")
	if k.out, err = decodeRaw(r.Raw("out")); err != nil || failed == nil {
		return err
	}
	f, err := failure.Read(failed)
	if err != nil {
		return err
	}
	k.out.SetError(f.Err())
	return nil
}

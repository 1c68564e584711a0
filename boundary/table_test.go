package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/boundary/probe"
)

// A verdict is what became of one misbehaviour.
type verdict struct {
	Case    string
	Outcome probe.Outcome
	Type    string
	Fault   string // why the answer is not well-formed, or that none came
	Lost    bool   // no answer came
	Dead    bool   // nor any to the next call
}

// patience is how long an answer of a boundary is waited for.
const patience = 30 * time.Second

// run makes the misbehaving call, judges the answer, and sees whether the next
// call, of a healthy tool, works and no answer came twice.
func (m misbehaviour) run(ctx context.Context, s *probe.Session, w probe.Wire) verdict {
	before := w.Surplus()
	v := verdict{Case: m.name}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v.judge(s.Era(), m, m.answer(within, s))
	v.judgeNext(within, s)
	if w.Surplus() != before {
		v.Fault = joined(v.Fault, "more than one answer came")
	}
	return v
}

// runBare is run against a server that may never answer. An answer counts as lost
// when the next call has had its own and a moment has passed: on a slow machine
// the next call is slow too.
func (m misbehaviour) runBare(ctx context.Context, s *probe.Session) verdict {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v := verdict{Case: m.name}
	answers := make(chan answer, 1)
	go func() { answers <- m.answer(ctx, s) }()
	_ = misbehaviour{name: "healthy"}.answer(ctx, s)
	moment := 300 * time.Millisecond
	if strings.HasSuffix(m.name, "10mib") {
		moment = patience
	}
	select {
	case a := <-answers:
		v.judge(s.Era(), m, a)
	case <-time.After(moment):
		v.judge(s.Era(), m, answer{err: errors.New("the next call was answered")})
	}
	v.judgeNext(ctx, s)
	return v
}

type answer struct {
	res *jsonrpc.Response
	err error
}

func (v *verdict) judge(era probe.Era, m misbehaviour, a answer) {
	if a.err != nil {
		v.Fault, v.Lost = joined("no answer: "+firstLine(a.err.Error()), v.Fault), true
		return
	}
	var err error
	if v.Outcome, err = probe.Judge(era, a.res, resolved(m.output)); err != nil {
		v.Fault = joined(firstLine(err.Error()), v.Fault)
		return
	}
	v.Type = faceIn(a.res).Type
}

func (v *verdict) judgeNext(ctx context.Context, s *probe.Session) {
	res, err := s.Call(ctx, "healthy", nil)
	if outcome, judged := probe.Judge(s.Era(), res, nil); err != nil || judged != nil || outcome != probe.Complete {
		v.Fault, v.Dead = joined(v.Fault, "the next call did not work"), true
	}
}

func (m misbehaviour) answer(ctx context.Context, s *probe.Session) answer {
	var arguments any = map[string]any{}
	if m.arguments != nil {
		arguments = m.arguments
	}
	if m.wire != "" {
		arguments = json.RawMessage(m.wire)
	}
	res, err := s.Call(ctx, m.name, arguments)
	return answer{res, err}
}

// wanted is the outcome and the type that a boundary must give in the era.
func (m misbehaviour) wanted(era probe.Era) (probe.Outcome, string) {
	if era == probe.Legacy && m.legacy != "" {
		return m.legacy, m.wantType
	}
	if m.want != probe.ErrorResult {
		return m.want, ""
	}
	return m.want, m.wantType
}

func resolved(output any) *jsonschema.Resolved {
	schema, ok := output.(*jsonschema.Schema)
	if !ok {
		return nil
	}
	r, err := schema.Resolve(nil)
	if err != nil {
		panic(err)
	}
	return r
}

func faceIn(res *jsonrpc.Response) boundary.Face {
	var r struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var f boundary.Face
	if json.Unmarshal(res.Result, &r) == nil {
		_ = json.Unmarshal(r.Meta[boundary.MetaKey], &f) // absent on a bare server
	}
	return f
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 120 {
		s = s[:120] + "..."
	}
	return s
}

func (v verdict) String() string {
	return fmt.Sprintf("%-26s %s", v.Case, joined(string(v.Outcome), v.Fault))
}

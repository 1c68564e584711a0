package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/boundary/internal/misbehaving"
	"github.com/mrtr-go/sdk/internal/probe"
	"github.com/mrtr-go/sdk/internal/wire"
)

// A verdict is the outcome of one misbehaviour.
type verdict struct {
	Case    string
	Outcome probe.Outcome
	Type    string
	Fault   string // why the answer is not well-formed or is missing
	Lost    bool   // there was no answer
	Dead    bool   // nor one to the next call
}

// patience is how long the test waits for an answer.
const patience = time.Minute

// run makes the misbehaving call, judges the answer, and sees whether the next
// call, of a healthy tool, works and no answer came twice.
func run(ctx context.Context, client *wire.Client, era probe.Era, c misbehaving.Case) verdict {
	return runAt(ctx, client, misbehaving.AtTool, era, c)
}

func runAt(ctx context.Context, client *wire.Client, place misbehaving.Place, era probe.Era, c misbehaving.Case) verdict {
	before := client.Surplus()
	v := verdict{Case: c.Name}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v.judge(place, era, c, answerTo(within, client, place, c))
	after, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v.judgeNext(after, client, era)
	if client.Surplus() != before {
		v.Fault = joined(v.Fault, "more than one answer came")
	}
	return v
}

type answer struct {
	res *jsonrpc.Response
	err error
}

func (v *verdict) judge(place misbehaving.Place, era probe.Era, c misbehaving.Case, a answer) {
	if a.err != nil {
		v.Fault, v.Lost = joined("no answer: "+firstLine(a.err.Error()), v.Fault), true
		return
	}
	var err error
	if v.Outcome, err = judges()[place][era].Judge(a.res); err != nil {
		v.Fault = joined(firstLine(err.Error()), v.Fault)
		return
	}
	if n := size(a.res); n > mostBytes {
		v.Fault = joined(fmt.Sprintf("an answer of %d bytes", n), v.Fault)
	}
	if place != misbehaving.AtTool {
		return
	}
	output := resolved(c.Output)
	if era == probe.Legacy && output != nil && output.Schema().Type != "object" {
		output = nil // a legacy client is not shown it
	}
	if v.Outcome, err = probe.Judge(era, a.res, output); err != nil {
		v.Fault = joined(firstLine(err.Error()), v.Fault)
		return
	}
	v.Type = reportIn(a.res).Type
}

func (v *verdict) judgeNext(ctx context.Context, client *wire.Client, era probe.Era) {
	res, err := client.Exchange(ctx, wire.Request{Name: "healthy"})
	if outcome, judged := probe.Judge(era, res, nil); err != nil || judged != nil || outcome != probe.Complete {
		v.Fault, v.Dead = joined(v.Fault, "the next call did not work"), true
	}
}

// judges know the specification's rules for the answers of each method in each era.
// The processes that these tests start need none of them, or one.
var judges = sync.OnceValue(func() map[misbehaving.Place]map[probe.Era]*probe.Specification {
	all := map[misbehaving.Place]map[probe.Era]*probe.Specification{}
	for _, place := range misbehaving.Places {
		all[place] = map[probe.Era]*probe.Specification{}
		for _, era := range eras {
			judge, err := probe.SpecificationOf(string(place), era)
			if err != nil {
				panic(err)
			}
			all[place][era] = judge
		}
	}
	return all
})

// mostBytes is more than any answer may take: the limit, the part of _meta that is not counted,
// and the report.
const mostBytes = 64<<10 + 48<<10

func size(res *jsonrpc.Response) int {
	if res.Error == nil {
		return len(res.Result)
	}
	data, err := json.Marshal(res.Error)
	if err != nil {
		return 0 // it was decoded from JSON
	}
	return len(data)
}

func answerTo(ctx context.Context, client *wire.Client, place misbehaving.Place, c misbehaving.Case) answer {
	switch place {
	case misbehaving.AtPrompt:
		res, err := client.Exchange(ctx, wire.Request{Method: string(place), Name: c.Name})
		return answer{res, err}
	case misbehaving.AtResource:
		res, err := client.Exchange(ctx, wire.Request{Method: string(place), Name: misbehaving.Scheme + c.Name})
		return answer{res, err}
	}
	var arguments any = map[string]any{}
	if c.Arguments != nil {
		arguments = c.Arguments
	}
	if c.Wire != "" {
		arguments = json.RawMessage(c.Wire)
	}
	res, err := client.Exchange(ctx, wire.Request{Name: c.Name, Arguments: arguments})
	return answer{res, err}
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

func reportIn(res *jsonrpc.Response) boundary.Report {
	var r struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var f boundary.Report
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

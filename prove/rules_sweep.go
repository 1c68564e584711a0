package prove

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

// SweepRules are the rules of [Sweep]. They demand less than those of [Rules], and
// of every tool: it need not ask.
func SweepRules() []Rule {
	all := []Rule{shakesHands, discovers, listsTools}
	for _, r := range sweepRules {
		all = append(all, r.Rule)
	}
	return slices.Concat(all, []Rule{answersNext, endsStreams, endsInTime}, serverSweepRules)
}

// Rules about the way to a tool, which show while others are tried.
var (
	shakesHands   = Rule{Name: "sweep/initialize", Says: "The server answers initialize.", Level: Must, Clause: greeting}
	discovers     = Rule{Name: "sweep/discover", Says: "A modern client is served.", Level: Ours, Clause: "a server may speak legacy revisions alone"}
	listsTools    = Rule{Name: "sweep/tools-list", Says: "tools/list ends, and every entry is a tool whose input schema reads.", Level: Must, Clause: listed}
	answersNext   = Rule{Name: "sweep/next-call", Says: "After each call a further one is answered.", Level: Ours, Clause: "one client's request must not end another's"}
	endsStreams   = Rule{Name: "sweep/stream-ends", Says: "The stream of a response ends after the answer.", Level: Should, Clause: ending}
	endsInTime    = Rule{Name: "sweep/time", Says: "The probe ends in time.", Level: Ours, Clause: "a server that takes its time is not usable"}
	readOnlyAlone = Rule{Name: "sweep/read-only", Says: "A tool that is not annotated read-only is not called.", Level: Ours, Clause: "a sweep does no harm"}
)

// sweepRule sends one kind of arguments to each tool and judges the outcome.
type sweepRule struct {
	Rule
	// arguments are made from good ones, unless the tool gives no occasion.
	arguments func(tool *tool, good map[string]any) (arguments any, applies bool)
	// judge says why the outcome breaks the rule; "" if it does not.
	judge func(o judge.Outcome, raw string) string
}

var sweepRules = []sweepRule{
	{Rule{Name: goodInput, Says: "Arguments that satisfy the schema get a result, not a protocol error.", Level: Ours, Clause: "what the schema allows is no mistake of the client's"},
		func(_ *tool, good map[string]any) (any, bool) { return good, true },
		func(o judge.Outcome, _ string) string {
			if o == judge.ProtocolError {
				return "a protocol error, which a model never gets to read"
			}
			return ""
		}},
	{Rule{Name: "sweep/missing-argument", Says: "A call without a required argument ends in an error.", Level: Must, Clause: validated},
		func(tool *tool, good map[string]any) (any, bool) {
			bad := maps.Clone(good)
			for _, name := range tool.input.Required {
				delete(bad, name)
			}
			return bad, len(tool.input.Required) > 0
		}, notRefused},
	{Rule{Name: "sweep/wrong-type", Says: "An argument of the wrong type ends in an error.", Level: Must, Clause: validated},
		spoiled, notRefused},
	{Rule{Name: "sweep/repeats-nothing", Says: "An error does not repeat the value of a wrong argument.", Level: Ours, Clause: "the value may be a secret, and errors end up in logs"},
		spoiled,
		func(_ judge.Outcome, raw string) string {
			if strings.Contains(raw, secret) {
				return "the answer repeats the value that was sent"
			}
			return ""
		}},
	{Rule{Name: "sweep/unknown-argument", Says: "An argument that the tool does not have is refused, not dropped.", Level: Must, Clause: validated},
		func(tool *tool, good map[string]any) (any, bool) {
			return with(good, "no_such_argument", secret), closed(tool.input)
		}, notRefused},
	{Rule{Name: "sweep/not-an-object", Says: "Arguments that are no object end in an error.", Level: Must, Clause: validated},
		func(*tool, map[string]any) (any, bool) { return []any{1}, true }, notRefused},
}

const goodInput = "sweep/good-input"

// secret is sent in the place of a value that no answer should repeat.
const secret = "s3cret-value-of-the-probe"

// spoiled are good arguments with one of a type that it must not have.
func spoiled(tool *tool, good map[string]any) (any, bool) {
	for _, name := range slices.Sorted(maps.Keys(tool.input.Properties)) {
		switch p := tool.input.Properties[name]; {
		case p == nil || p.Type == "" || p.Type == "null":
		case p.Type == "string":
			return with(good, name, []any{secret}), true
		default:
			return with(good, name, secret), true
		}
	}
	return nil, false
}

func notRefused(o judge.Outcome, _ string) string {
	if o == judge.ErrorResult || o == judge.ProtocolError {
		return ""
	}
	return fmt.Sprintf("it ended as %s", o)
}

// on is the rule for one tool. made says why no arguments could be made.
func (r sweepRule) on(s *sweeper, tool *tool, arguments any, made error) Rule {
	rule := r.Rule
	rule.try = func(t *trial) {
		if _, needs := arguments.(map[string]any); needs && made != nil {
			t.skip("not proved: no arguments to call it with: %v", made)
		}
		s.user.begin()
		e := t.send(t.client(), wire.Request{Name: tool.Name, Arguments: arguments})
		t.unlessFaulty(e, s.user.wrong())
		t.answered(e)
		if r.Name == goodInput {
			e = t.followGood(e)
		}
		outcome, err := t.judge(e, tool.output)
		if err != nil {
			t.failAt(e, "%v", err)
		}
		if fault := r.judge(outcome, e.raw()); fault != "" {
			t.failAt(e, "%s", fault)
		}
		switch {
		case r.Name != goodInput:
		case outcome == judge.ErrorResult:
			t.skip("not proved: the call ended in an error, and nothing says that it should not; give arguments that work: %s", e.reply.Text)
		case outcome == judge.Complete && tool.outputErr != nil:
			t.skip("not proved: its outputSchema is not judged by: %v", tool.outputErr)
		}
	}
	return rule
}

const (
	maxSweptRounds    = 10
	maxSweptQuestions = 100 // of a round, or of a legacy call
)

// followGood answers the questions of a call with good arguments to its end.
func (t *trial) followGood(e exchange) exchange {
	for range maxSweptRounds {
		if outcome, err := t.judge(e, nil); err != nil || outcome != judge.InputRequired {
			return e
		}
		if len(e.reply.Asks) > maxSweptQuestions {
			t.failAt(e, "it asks more than %d questions at once", maxSweptQuestions)
		}
		next := t.next(e, func(q wire.Question) any {
			answer, err := agree(q)
			t.unlessFaulty(e, err)
			return answer
		})
		if e = t.send(t.client(), next); e.reply == nil {
			t.failAt(e, "no answer to the next round: %v", e.err)
		}
	}
	t.skip("not proved: the call asks further after %d rounds", maxSweptRounds)
	return e
}

// unansweredError says why a question cannot be answered, which may be no fault of the
// server's.
type unansweredError struct{ error }

func (t *trial) unlessFaulty(e exchange, err error) {
	var unanswered *unansweredError
	switch {
	case errors.As(err, &unanswered):
		t.skip("not proved: %v", err)
	case err != nil:
		t.failAt(e, "%v", err)
	}
}

// agree accepts a form with values that fit it: the tool is read-only, so there is
// nothing to agree to.
func agree(q wire.Question) (any, error) {
	if !isForm(q) {
		return nil, fmt.Errorf("the question %q: it asks for what the client did not declare", q.Key)
	}
	schema, err := readSchema(q.Schema)
	if err != nil {
		return nil, fmt.Errorf("the question %q: its requestedSchema does not read: %w", q.Key, err)
	}
	content, err := sampleForm(schema, q.Properties())
	if err != nil {
		return nil, &unansweredError{fmt.Errorf("the question %q: %w", q.Key, err)}
	}
	return accepting(content), nil
}

// user answers the questions that come over the connection of a legacy client, and
// remembers the fault of one.
type user struct {
	mu    sync.Mutex
	asked int // in the call that is being made
	fault error
}

func (u *user) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked, u.fault = 0, nil
}

func (u *user) wrong() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.fault
}

// answer is a [wire.Answer].
func (u *user) answer(q wire.Question) any {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	answer, err := agree(q)
	if u.asked > maxSweptQuestions {
		err = fmt.Errorf("it asks more than %d questions in one call", maxSweptQuestions)
	}
	if err == nil {
		return answer
	}
	if u.fault == nil {
		u.fault = err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the question cannot be answered"}
}

// serverSweepRules concern no tool in particular.
var serverSweepRules = []Rule{
	{"sweep/unknown-tool", "A tool that does not exist is a protocol error.", Should, unknown, sdkOwns, nil, func(t *trial) {
		s := t.unknown()
		if outcome, err := t.judge(s, nil); err != nil {
			t.failAt(s, "%v", err)
		} else if outcome != judge.ProtocolError {
			t.failAt(s, "it ended as %s", outcome)
		}
	}},
	{"sweep/one-answer", "No request is answered twice.", Must, jsonRPC, sdkOwns, nil, func(t *trial) {
		if n := t.surplus(t.client()); n > 0 {
			t.fail("%d answers came that nothing waited for", n)
		}
	}},
}

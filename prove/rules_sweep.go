package prove

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
)

// SweepRules are the rules of [Sweep]. They demand less than those of [Rules], and
// of every tool: it need not ask.
func SweepRules() []Rule {
	return slices.Concat([]Rule{shakesHands, discovers, listsTools, goodInput, badInput, answersNext, endsStreams, endsInTime}, serverSweepRules)
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

// Rules about each tool.
var (
	goodInput = Rule{Name: "sweep/good-input", Says: "Arguments that satisfy the schema get a result, not a protocol error.", Level: Ours, Clause: "what the schema allows is no mistake of the client's"}
	badInput  = Rule{Name: "sweep/bad-input", Says: "Arguments that break the schema end in an error.", Level: Must, Clause: validated}
)

// on are the rules for one tool, and how many calls they make of it.
func (s *sweeper) on(tool *tool) (rules []Rule, calls int) {
	good, made := s.opts.Arguments[tool.Name], error(nil)
	if good == nil {
		good, made = tool.sample()
	}
	bad := nonObjects
	if made == nil {
		bad = badInputs(tool.input, good)
	}
	well, badly := goodInput, badInput
	well.try = func(t *trial) {
		if made != nil {
			t.skip("not proved: no arguments to call it with: %v", made)
		}
		t.worksWell(tool, t.followGood(s.ask(t, tool, good)))
	}
	badly.try = func(t *trial) {
		for _, w := range bad {
			e := s.ask(t, tool, w.value)
			if outcome, err := t.judge(e, tool.output); err != nil {
				t.failAt(e, "%v", err)
			} else if outcome != judge.ErrorResult && outcome != judge.ProtocolError {
				t.failAt(e, "%s it ended as %s", w.what, outcome)
			}
		}
	}
	return []Rule{well, badly}, 1 + len(bad)
}

// ask calls a tool, and fails if it asks the user of a legacy client something wrong.
func (s *sweeper) ask(t *trial, tool *tool, arguments any) exchange {
	s.user.begin()
	e := t.send(t.client(), wire.Request{Name: tool.Name, Arguments: arguments})
	t.unlessFaulty(e, s.user.wrong())
	t.answered(e)
	return e
}

// worksWell judges the end of a call with good arguments.
func (t *trial) worksWell(tool *tool, e exchange) {
	switch outcome, err := t.judge(e, tool.output); {
	case err != nil:
		t.failAt(e, "%v", err)
	case outcome == judge.ProtocolError:
		t.failAt(e, "a protocol error, which a model never gets to read")
	case outcome == judge.ErrorResult:
		t.skip("not proved: the call ended in an error, and nothing says that it should not; give arguments that work: %s", e.reply.Text)
	case outcome == judge.Complete && tool.outputErr != nil:
		t.skip("not proved: its outputSchema is not judged by: %v", tool.outputErr)
	}
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
	{"sweep/unknown-tool", "An unknown tool is a protocol error.", Should, unknown, sdkOwns, nil, unknownTool},
	{"sweep/one-answer", "No request is answered twice.", Must, jsonRPC, sdkOwns, nil, func(t *trial) {
		if n := t.surplus(t.client()); n > 0 {
			t.fail("%d answers came that nothing waited for", n)
		}
	}},
}

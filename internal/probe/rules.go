package probe

import (
	"fmt"
	"strings"
)

// The rules, in the order in which they are tried.
var rules = []rule{
	{ruleGoodInput, "Arguments that satisfy the schema get a result, not a protocol error.",
		func(t *tool) (any, bool, error) {
			args, err := t.good()
			return args, true, err
		},
		func(o Outcome, _ string) string {
			if o == ProtocolError {
				return "a protocol error, which a model never gets to read"
			}
			return ""
		}},
	{"missing_argument", "A call without a required argument ends in an error.",
		func(t *tool) (any, bool, error) {
			args, err := t.good()
			for _, name := range t.schema.Required {
				delete(args, name)
			}
			return args, len(t.schema.Required) > 0, err
		}, refused},
	{"wrong_type", "An argument of the wrong type ends in an error that does not repeat its value.",
		func(t *tool) (any, bool, error) { return t.spoiled() },
		func(o Outcome, raw string) string {
			if strings.Contains(raw, secret) {
				return "the answer repeats the value that was sent"
			}
			return refused(o, raw)
		}},
	{"unknown_argument", "An argument that the tool does not have is refused, not dropped.",
		func(t *tool) (any, bool, error) {
			args, err := t.good()
			if err == nil {
				args["no_such_argument"] = secret
			}
			return args, t.closed(), err
		}, refused},
	{"not_an_object", "Arguments that are no object end in an error.",
		func(*tool) (any, bool, error) { return []any{1}, true, nil }, refused},
}

// A rule sends one kind of arguments and judges the outcome. The error of
// arguments says why none could be made.
type rule struct {
	name, explanation string
	arguments         func(*tool) (arguments any, applies bool, err error)
	judge             func(o Outcome, raw string) (fault string)
}

// secret is sent where nothing is expected to come back.
const secret = "s3cret-value-of-the-probe"

func refused(o Outcome, _ string) string {
	if o == ErrorResult || o == ProtocolError {
		return ""
	}
	return fmt.Sprintf("it ended as %s", o)
}

// Rules are the names of the rules, each with its demand, in the order in which
// they are tried.
func Rules() [][2]string {
	all := [][2]string{
		{ruleHandshake, "The server answers initialize."},
		{ruleList, "tools/list ends, and every entry is a tool whose input schema reads."},
	}
	for _, r := range rules {
		all = append(all, [2]string{r.name, r.explanation})
	}
	return append(all,
		[2]string{ruleNext, "After each call a further one is answered."},
		[2]string{ruleStream, "The stream of a response ends after the answer."},
		[2]string{ruleTime, "The probe ends in time."},
		[2]string{ruleUnknownTool, "A tool that does not exist is a protocol error."},
		[2]string{ruleOnce, "No request is answered twice."})
}

const (
	ruleHandshake   = "initialize"
	ruleList        = "tools_list"
	ruleGoodInput   = "good_input"
	ruleNext        = "next_call"
	ruleStream      = "stream_ends"
	ruleTime        = "time"
	ruleUnknownTool = "unknown_tool"
	ruleOnce        = "one_answer"
)

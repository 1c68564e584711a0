package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// newServer registers every fixture. A tool that asks is registered as any
// other; which era its client speaks is nowhere to be seen.
func newServer(rt *mrtr.Runtime) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "mrtr-conformance", Version: "1.0.0"}, &mcp.ServerOptions{
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addContents(s)
	addReports(s)
	addSchemas(s)
	addChanges(s)
	addResources(s)
	addPrompts(s)

	add(s, "test_elicitation", "Asks the user what the arguments say.", mrtr.Tool(rt, mrtr.Native(elicitation), nil))
	add(s, "test_elicitation_sep1034_defaults", "Asks with a form whose fields have defaults.", mrtr.Tool(rt, mrtr.Native(formWithDefaults), nil))
	add(s, "test_elicitation_sep1330_enums", "Asks with a form of every kind of enum.", mrtr.Tool(rt, mrtr.Native(formWithEnums), nil))
	add(s, "test_sampling", "Asks the client's model what the arguments say.", mrtr.Tool(rt, mrtr.Native(sampling), nil))
	add(s, "test_missing_capability", "Needs a capability that the caller may lack.", mrtr.Tool(rt, mrtr.Native(capital), nil))
	add(s, "test_streaming_elicitation", "Asks on a response stream.", mrtr.Tool(rt, mrtr.Native(greet), nil))

	add(s, "test_input_required_result_elicitation", "Asks for a name.", mrtr.Tool(rt, mrtr.Native(greet), nil))
	add(s, "test_input_required_result_sampling", "Asks the client's model.", mrtr.Tool(rt, mrtr.Native(capital), nil))
	add(s, "test_input_required_result_list_roots", "Asks for the client's roots.", mrtr.Tool(rt, mrtr.Native(roots), nil))
	add(s, "test_input_required_result_request_state", "Carries a value over a round.", mrtr.Tool(rt, mrtr.Native(carry), nil))
	add(s, "test_input_required_result_multiple_inputs", "Asks three questions at once.", mrtr.Tool(rt, mrtr.Native(together), nil))
	add(s, "test_input_required_result_multi_round", "Asks one question after another.", mrtr.Tool(rt, linear.Journal(portrait), nil))
	add(s, "test_input_required_result_tampered_state", "Asks, and takes back no state but its own.", mrtr.Tool(rt, mrtr.Native(confirm), nil))
	add(s, "test_input_required_result_capabilities", "Asks what the client declared.", mrtr.Tool(rt, mrtr.Native(whatever), nil))
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "A prompt that asks for its context."},
		rt.Prompt(mrtr.Native(contextual), nil))
	addTasks(s, rt)
	return s
}

func add[In, Out any](s *mcp.Server, name, description string, h mcp.ToolHandlerFor[In, Out]) {
	mrtr.AddTool(s, &mcp.Tool{Name: name, Description: description}, h)
}

// nothing is the input of a tool without arguments.
type nothing struct{}

// said is the output of a tool that has one sentence to say.
type said struct {
	Sentence string `json:"sentence"`
}

func (s said) Text() string { return s.Sentence }

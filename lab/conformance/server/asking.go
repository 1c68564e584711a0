package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// The tools that ask, each written as any tool would be.

type person struct {
	Name string `json:"name"`
}

var whoAreYou = mrtr.Elicit[person]("user_name", "What is your name?")

// greet asks one question.
func greet(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	user, ok := mrtr.Answer(c, whoAreYou)
	if !ok {
		return mrtr.Need(whoAreYou), said{}, nil
	}
	return nil, said{"Hello, " + user.Name + "!"}, nil
}

type asked struct {
	Message string `json:"message" jsonschema:"the message to show to the user"`
}

type contact struct {
	Username string `json:"username" jsonschema:"the user's name"`
	Email    string `json:"email" jsonschema:"the user's email address"`
}

// elicitation asks a question whose words come with the arguments.
func elicitation(_ context.Context, c *mrtr.Call, in asked) (*mrtr.IncompleteResult, said, error) {
	//mrtr:allow bareargument the suite's tool repeats its argument
	q := mrtr.Elicit[contact]("contact", in.Message)
	user, ok := mrtr.Answer(c, q)
	if !ok {
		return mrtr.Need(q), said{}, nil
	}
	return nil, said{fmt.Sprintf("User response: %s <%s>", user.Username, user.Email)}, nil
}

type prompted struct {
	Prompt string `json:"prompt" jsonschema:"the prompt for the client's model"`
}

// sampling asks the model a question whose words come with the arguments.
func sampling(_ context.Context, c *mrtr.Call, in prompted) (*mrtr.IncompleteResult, said, error) {
	q := mrtr.Sample("model", prompt(in.Prompt, 100))
	answer, ok := mrtr.Answer(c, q)
	if !ok {
		return mrtr.Need(q), said{}, nil
	}
	return nil, said{"LLM response: " + spoken(answer)}, nil
}

var capitalQuestion = mrtr.Sample("capital_question", prompt("What is the capital of France?", 100))

// capital asks the client's model. A client that did not declare sampling is
// refused with the name of the capability, without a line about it here.
func capital(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	answer, ok := mrtr.Answer(c, capitalQuestion)
	if !ok {
		return mrtr.Need(capitalQuestion), said{}, nil
	}
	return nil, said{spoken(answer)}, nil
}

// prompt is one user message for a model.
func prompt(text string, maxTokens int64) *mcp.CreateMessageWithToolsParams {
	return &mcp.CreateMessageWithToolsParams{
		MaxTokens: maxTokens,
		Messages:  []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: text}}}},
	}
}

// spoken is the text of a model's answer.
func spoken(answer *mcp.CreateMessageWithToolsResult) string {
	text := ""
	for _, content := range answer.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text
}

var clientRoots = mrtr.Roots("client_roots")

// roots asks where the client's files are.
func roots(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	answer, ok := mrtr.Answer(c, clientRoots)
	if !ok {
		return mrtr.Need(clientRoots), said{}, nil
	}
	return nil, said{"The client's roots: " + addresses(answer) + "."}, nil
}

func addresses(answer *mcp.ListRootsResult) string {
	var uris []string
	for _, root := range answer.Roots {
		uris = append(uris, root.URI)
	}
	return strings.Join(uris, ", ")
}

var greeting = mrtr.Sample("greeting", prompt("Generate a greeting", 50))

// together asks three questions in one round. It is entered again when all of
// them are answered.
func together(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	user, haveUser := mrtr.Answer(c, whoAreYou)
	words, haveWords := mrtr.Answer(c, greeting)
	places, havePlaces := mrtr.Answer(c, clientRoots)
	if !haveUser || !haveWords || !havePlaces {
		return mrtr.Need(whoAreYou, greeting, clientRoots), said{}, nil
	}
	return nil, said{spoken(words) + " " + user.Name + ", your roots: " + addresses(places) + "."}, nil
}

var (
	maybeName     = mrtr.Optional(whoAreYou)
	maybeGreeting = mrtr.Optional(greeting)
)

// whatever asks two questions that may stay open. A question that needs an
// undeclared capability is not sent, and its answer is nil.
func whatever(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	user, haveUser := mrtr.Answer(c, maybeName)
	words, haveWords := mrtr.Answer(c, maybeGreeting)
	if !haveUser || !haveWords {
		return mrtr.Need(maybeName, maybeGreeting), said{}, nil
	}
	sentence := "Hello"
	if words != nil {
		sentence = spoken(*words)
	}
	if user != nil {
		sentence += ", " + user.Name
	}
	return nil, said{sentence + "!"}, nil
}

type favourite struct {
	Color string `json:"color"`
}

var (
	yourName  = mrtr.Elicit[person]("step1", "Step 1: What is your name?")
	yourColor = mrtr.Elicit[favourite]("step2", "Step 2: What is your favorite color?")
)

// portrait is linear code: a question, and below it the next. Nothing waits on
// the server in between.
func portrait(ctx context.Context, c *mrtr.Call, _ nothing) (said, error) {
	user, err := linear.Ask(ctx, c, yourName)
	if err != nil {
		return said{}, err
	}
	likes, err := linear.Ask(ctx, c, yourColor)
	if err != nil {
		return said{}, err
	}
	return said{fmt.Sprintf("%s likes %s.", user.Name, likes.Color)}, nil
}

type yes struct {
	OK bool `json:"ok"`
}

var pleaseConfirm = mrtr.Elicit[yes]("confirm", "Please confirm")

// carry makes a value in the first round, which the next one has from the sealed state.
func carry(ctx context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	carried, err := mrtr.Once(ctx, c, "carried", func(context.Context, string) (string, error) {
		if c.Round() > 1 {
			return "", errors.New("the value is gone")
		}
		return "state-ok", nil
	})
	if err != nil {
		return nil, said{}, err
	}
	if _, ok := mrtr.Answer(c, pleaseConfirm); !ok {
		return mrtr.Need(pleaseConfirm), said{}, nil
	}
	return nil, said{carried}, nil
}

// confirm does nothing about a forged state: one that this server did not seal
// for this tool never reaches it.
func confirm(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	answer, ok := mrtr.Answer(c, pleaseConfirm)
	switch {
	case !ok:
		return mrtr.Need(pleaseConfirm), said{}, nil
	case !answer.OK:
		return nil, said{"Not confirmed."}, nil
	}
	return nil, said{"Confirmed."}, nil
}

type situation struct {
	Context string `json:"context"`
}

var userContext = mrtr.Elicit[situation]("user_context", "What context should the prompt use?")

// contextual is a prompt that asks, in the very shape of a tool that does.
func contextual(_ context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
	answer, ok := mrtr.Answer(c, userContext)
	if !ok {
		return mrtr.Need(userContext), nil, nil
	}
	return nil, &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{userSays(&mcp.TextContent{Text: "Context: " + answer.Context})}}, nil
}

// The two forms are spelled out because a Go type cannot express them: values to
// begin with, and the enum spelling that the protocol has retired.

var defaultsForm = mrtr.ElicitAs[map[string]any]("profile", "Who are you?", json.RawMessage(`{
	"type": "object",
	"properties": {
		"name": {"type": "string", "default": "John Doe"},
		"age": {"type": "integer", "default": 30},
		"score": {"type": "number", "default": 95.5},
		"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
		"verified": {"type": "boolean", "default": true}
	}
}`))

var enumsForm = mrtr.ElicitAs[map[string]any]("choices", "Make your choices.", json.RawMessage(`{
	"type": "object",
	"properties": {
		"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
		"titledSingle": {"type": "string", "oneOf": [
			{"const": "value1", "title": "First Option"},
			{"const": "value2", "title": "Second Option"},
			{"const": "value3", "title": "Third Option"}
		]},
		"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
		"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
		"titledMulti": {"type": "array", "items": {"anyOf": [
			{"const": "value1", "title": "First Choice"},
			{"const": "value2", "title": "Second Choice"},
			{"const": "value3", "title": "Third Choice"}
		]}}
	}
}`))

func formWithDefaults(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	return fillIn(c, defaultsForm)
}

func formWithEnums(_ context.Context, c *mrtr.Call, _ nothing) (*mrtr.IncompleteResult, said, error) {
	return fillIn(c, enumsForm)
}

func fillIn(c *mrtr.Call, form mrtr.Question[map[string]any]) (*mrtr.IncompleteResult, said, error) {
	fields, ok := mrtr.Answer(c, form)
	if !ok {
		return mrtr.Need(form), said{}, nil
	}
	return nil, said{fmt.Sprintf("Elicitation completed: %v", fields)}, nil
}

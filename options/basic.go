package options

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

// Greeting is the output of [Basic].
type Greeting struct {
	Greeting string `json:"greeting"`
}

// Text is the greeting as people and models read it.
func (g Greeting) Text() string { return g.Greeting }

// Basic is the smallest complete handler. Every guarded one makes its two moves, once for each
// question.
func Basic(rt *mrtr.Runtime) mcp.ToolHandlerFor[struct{}, Greeting] {
	return mrtr.Tool(rt, mrtr.Native(greet), nil)
}

func greet(ctx context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, Greeting, error) {
	name, ok := mrtr.Answer(c, yourName) // move one: read the answer
	if !ok {
		return mrtr.Need(yourName), Greeting{}, nil // move two: ask for it
	}
	return nil, Greeting{"Hello, " + name + "."}, nil
}

var yourName = mrtr.Elicit[string]("name", "What is your name?")

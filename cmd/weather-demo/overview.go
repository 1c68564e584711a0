package main

import (
	"context"
	"fmt"
	"io"
)

// overview plays one call and prints the table, for readers new to all of it.
func (s selection) overview(ctx context.Context, w io.Writer) error {
	fmt.Fprint(w, intro)
	first := selection{s.styles[:1], s.eras[:1], s.locations[:1]}
	if err := first.sequences(ctx, w, firstChoices); err != nil {
		return err
	}
	fmt.Fprint(w, inBetween)
	if err := writeTable(ctx, w, s.locations); err != nil {
		return err
	}
	fmt.Fprint(w, outro)
	return nil
}

const intro = `Since revision 2026-07-28 of the Model Context Protocol a server cannot call its
client back. A tool that needs an answer from its user ends with the result
input_required, which holds a question and a sealed state. The client asks its
user and calls the tool again, from the top, with the answer and the state.
Here is one such call; ▸ and ● happen on the server:

`

const inBetween = `The server keeps nothing between the two requests: all it needs comes back in
request_state, which the client can neither read nor change. But code above a
question runs again in each round, and an effect such as the audit line must
happen once. Each style below ensures that in its own way, except the last two,
B and N.

`

const outro = `
Next, each after go run ./cmd/weather-demo:

  -ask                               answer the questions yourself
  -style steps                       one style, step by step
  -style coroutine -era legacy       one style with a legacy client
  -trace                             the messages, with the state decoded
  compare E G                        the code of two styles, side by side
  basic, then multiround             the two smallest handlers, explained
  help                               all commands
`

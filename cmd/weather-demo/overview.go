package main

import (
	"context"
	"fmt"
	"io"
)

// overview is what somebody sees who has never heard of any of this.
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

const intro = `A tool that needs an answer from its user cannot wait for it: since revision
2026-07-28 of the Model Context Protocol a server cannot call its client back.
So its result is a question, and a sealed state. The client asks its user, and
calls the tool again, from the top, with the answer and the state. This is one
such call, as it happened; what is indented happened on the server:

`

const inBetween = `Between its two requests the server remembers nothing: what it has to know comes
back in the request_state, which the client can neither read nor change. But
code that stands above a question runs again in each round. What if it does
something that must happen once, such as the line in the audit log? Each style
below answers that in its own way.

`

const outro = `
Try next, behind go run ./cmd/weather-demo:

  -ask                               answer the questions yourself
  -style steps                       one style, step by step
  -style coroutine -era legacy       a client from before
  -trace                             what is on the wire, with the state decoded
  compare E G                        the code of two styles, side by side
  basic, then multiround             the two smallest handlers, explained
  help                               everything else
`

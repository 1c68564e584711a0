package main

import (
	"context"
	"fmt"
	"io"
)

// overview plays one call and prints the table, for readers new to all of it.
func (s selection) overview(ctx context.Context, w io.Writer) error {
	call := plannedCall{option: s.styles[0], era: s.eras[0], location: s.locations[0], answers: firstChoices}
	ahead, err := call.play(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(w, intro)
	asks := ahead.Rounds > 1
	if asks {
		fmt.Fprint(w, introAsked)
	} else {
		fmt.Fprint(w, introUnasked)
	}
	first := selection{s.styles[:1], s.eras[:1], s.locations[:1]}
	if err := first.sequences(ctx, w, firstChoices); err != nil {
		return err
	}
	if asks {
		fmt.Fprint(w, inBetween)
	}
	fmt.Fprint(w, beforeTable)
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
`

const introAsked = `Here is one such call; ▸ and ● happen on the server:

`

const introUnasked = `This call asks nothing, so it is one request; ▸ happens on the server:

`

const inBetween = `The server keeps nothing between the two requests: all it needs comes back in
request_state, which the client can neither read nor change.

`

const beforeTable = `Code above a question runs again in each round, and an effect such as the audit
line must happen once. A legacy client cannot call again, and is asked while its
one request is open. The tables below take each of the two in turn. B and N are
two ways to get the first one wrong.

`

const outro = `
Next, each after go run ./cmd/weather-demo:

  -ask                               answer the questions yourself
  -style steps                       one style, step by step
  -style coroutine -era legacy       one style with a legacy client
  -trace                             the messages, with the state decoded
  basic, then multiround             the two smallest handlers, explained
  compare E F                        the code of two styles, side by side
  lesson                             one function on three engines
  survive                            duplicates, restarts, deployments
  cost                               one, four and nine questions
  quadrant                           who can be asked, and who cannot
  help                               all commands
`

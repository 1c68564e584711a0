package sse

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

// asker puts the questions of a call over its session.
type asker struct {
	session *mcp.ServerSession
	options BridgeOptions
	token   any // of progress; nil where the client gave none
	ticks   int
	// urlAskIDs keeps the id under which a url went out, so that a handler which
	// asks for it again (the user is not done there) asks for the same thing.
	urlAskIDs map[string]string
}

var errAnswerTimeout = errors.New("answer timeout")

// asking is one question on its way.
type asking struct {
	key      string
	answer   mcp.InputResponse // nil where there is none to pass on
	err      *Error
	panicked any
}

// ask puts all questions at once and returns when every one has ended. The first
// that fails cancels the rest and is the one reported. A panic on the way, in a
// schema's own marshalling for one, surfaces on the caller's goroutine, where
// the code that guards the handler can recover it.
func (a *asker) ask(ctx context.Context, questions mcp.InputRequestMap) (mcp.InputResponseMap, *Error) {
	a.nameURLs(questions)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := a.keepAlive(waiting)
	defer stop()

	ended := make(chan asking, len(questions))
	for key, q := range questions {
		go func() {
			l := asking{key: key}
			defer func() {
				l.panicked = recover()
				ended <- l
			}()
			l.answer, l.err = a.put(ctx, waiting, key, q)
		}()
	}

	var failed *Error
	var panicked any
	responses := make(mcp.InputResponseMap, len(questions))
	for range questions {
		l := <-ended
		switch {
		case l.panicked != nil:
			panicked = l.panicked
			cancel()
		case l.err != nil:
			if failed == nil {
				failed = l.err
			}
			cancel()
		case l.answer != nil:
			responses[l.key] = l.answer
		}
	}
	if panicked != nil {
		panic(panicked)
	}
	return responses, failed
}

// nameURLs gives every url question an id before the questions are put, in a map that
// they then only read.
func (a *asker) nameURLs(questions mcp.InputRequestMap) {
	for key, q := range questions {
		if e, ok := q.(*mcp.ElicitParams); ok && era.IsURL(e) && e.ElicitationID == "" {
			if name := key + " " + e.URL; a.urlAskIDs[name] == "" {
				a.urlAskIDs[name] = rand.Text()
			}
		}
	}
}

func (a *asker) put(call, waiting context.Context, key string, q mcp.InputRequest) (mcp.InputResponse, *Error) {
	ctx, cancel := context.WithTimeoutCause(waiting, a.options.AnswerTimeout, errAnswerTimeout)
	defer cancel()
	answer, err := a.send(ctx, key, q)
	switch {
	case err == nil:
		return answer, nil
	case call.Err() != nil:
		return nil, interrupted(call)
	case errors.Is(context.Cause(ctx), errAnswerTimeout):
		return nil, &Error{Reason: TimedOut, Key: key, text: fmt.Sprintf("not answered within %v", a.options.AnswerTimeout)}
	case brokeSchema(err):
		return nil, nil
	default:
		return nil, &Error{Reason: Failed, Key: key, Err: err, text: "got no answer"}
	}
}

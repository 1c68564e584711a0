package sse

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/stack"
	"github.com/mrtr-go/sdk/sse/era"
)

// Rounds ask a legacy client the questions of one call, over its session and within the
// bounds of a [Bridge]. They are for an engine that keeps the call's state itself between
// two rounds; Bridge plays the rounds of any other handler.
type Rounds struct {
	options     BridgeOptions
	client      era.Client
	session     *mcp.ServerSession
	token       any // of progress; nil if the client gave none
	beats       int
	asked, idle int // rounds so far that asked something, and that asked nothing
	// urlIDs keeps the id under which a url went out, so that a handler that
	// asks for it again (the user is not done there) asks for the same thing.
	urlIDs map[string]string
}

// NewRounds are the rounds of the call that these params began. It panics with a
// [*UsageError] on bad options.
func NewRounds(client era.Client, session *mcp.ServerSession, params mcp.RequestParams, opts *BridgeOptions) *Rounds {
	return newRounds(opts.mustResolve(), client, session, params.GetProgressToken())
}

func newRounds(o BridgeOptions, client era.Client, session *mcp.ServerSession, token any) *Rounds {
	return &Rounds{options: o, client: client, session: session, token: token, urlIDs: map[string]string{}}
}

// Ask puts questions over the session of a legacy client outside of any bridge,
// for handlers that ask in their own code. All are put at once and the first
// failure, an [*Error], cancels the rest. An answer that does not fit its
// question is missing from the map, as it is in the rounds of a bridge: ask
// again. A session that cannot carry a question is [Unreachable]. Bad options are a
// [*UsageError].
//
// ctx is the handler's own or comes from it: over HTTP that is how the questions
// find the stream of the call. Of opts only AnswerTimeout matters, because there are
// no rounds here and no progress is sent. A caller that asks for the same url
// again sets its ElicitationID, because every Ask makes up a new one.
func Ask(ctx context.Context, session *mcp.ServerSession, questions mcp.InputRequestMap, opts *BridgeOptions) (mcp.InputResponseMap, error) {
	o, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	return newRounds(o, era.OfSession(session), session, nil).Ask(ctx, questions, nil)
}

// Ask puts the questions of one round, all at once. An empty map is a round that only
// carries state. A question with a deadline in until is given up then, and its answer
// is missing. The answers are those that the handler of a [Bridge] gets, and the error
// is an [*Error].
func (r *Rounds) Ask(ctx context.Context, questions mcp.InputRequestMap, until map[string]time.Time) (mcp.InputResponseMap, error) {
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	if len(questions) == 0 {
		if r.idle++; r.idle > r.options.MaxStateRounds {
			return nil, &Error{Reason: Endless, text: fmt.Sprintf("the handler asked to be called again without a question more than %d times", r.options.MaxStateRounds)}
		}
		return nil, nil
	}
	if r.asked++; r.asked > r.options.MaxRounds {
		return nil, &Error{Reason: Endless, text: fmt.Sprintf("the handler asked in more than %d rounds", r.options.MaxRounds)}
	}
	for key, q := range questions {
		if failed := r.canAnswer(key, q); failed != nil {
			return nil, failed
		}
	}
	return r.askAll(ctx, questions, until)
}

// canAnswer says why this client cannot be put the question, before anybody was
// asked anything. go-sdk checks this for elicitation alone.
func (r *Rounds) canAnswer(key string, q mcp.InputRequest) *Error {
	capability := era.CapabilityFor(q)
	switch {
	case capability == era.NoCapability:
		return &Error{Reason: Malformed, Key: key, text: fmt.Sprintf("the handler asked with a %T that cannot be sent", q)}
	case r.client.Era != era.Legacy:
		return &Error{Reason: Unreachable, Key: key, text: "this client cannot be asked: its requests come without a stream that could carry the question"}
	case !r.client.Declared(capability):
		return &Error{Reason: Undeclared, Key: key, text: "this client does not support " + capability.String()}
	}
	return nil
}

// Why a question is given up.
var (
	errAnswerTimeout = errors.New("answer timeout")
	errSilence       = errors.New("its deadline has passed")
)

// askAll puts all questions at once and returns when every one has ended. The first
// that fails cancels the rest and is the one reported. A panic on the way, in a
// schema's own marshalling for one, surfaces on the caller's goroutine, where
// the code that guards the handler can recover it.
func (r *Rounds) askAll(ctx context.Context, questions mcp.InputRequestMap, until map[string]time.Time) (mcp.InputResponseMap, error) {
	var beating sync.WaitGroup
	defer beating.Wait()
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.token != nil {
		beating.Go(func() { r.beat(waiting) })
	}

	ended := make(chan ending, len(questions))
	for key, q := range questions {
		send := r.prepare(key, q)
		go func() {
			stack.Grow[[10 << 10]byte]() // a transport writes the question in the end
			e := ending{key: key}
			defer func() {
				e.panicked = recover()
				ended <- e
			}()
			asking, cancel := waiting, context.CancelFunc(func() {})
			if at, ok := until[key]; ok {
				asking, cancel = context.WithDeadlineCause(waiting, at, errSilence)
			}
			defer cancel()
			e.answer, e.misfit, e.err = r.await(ctx, asking, key, send)
		}()
	}
	return collect(ctx, ended, len(questions), cancel)
}

// ending is how one question ended.
type ending struct {
	key      string
	answer   mcp.InputResponse // nil if there is none to pass on
	misfit   rendezvous.Misfit // one that did not fit
	err      error
	panicked any
}

// collect waits until that many questions have ended.
func collect(ctx context.Context, ended <-chan ending, questions int, cancel func()) (answers mcp.InputResponseMap, failed error) {
	var panicked any
	var misfits map[string]rendezvous.Misfit
	for range questions {
		e := <-ended
		switch {
		case e.panicked != nil:
			panicked = e.panicked
			cancel()
		case e.err == errSilence:
		case e.err != nil:
			if failed == nil {
				failed = e.err
			}
			cancel()
		case e.answer != nil:
			if answers == nil {
				answers = mcp.InputResponseMap{}
			}
			answers[e.key] = e.answer
		default:
			if misfits == nil {
				misfits = map[string]rendezvous.Misfit{}
			}
			misfits[e.key] = e.misfit
		}
	}
	rendezvous.SetMisfits(ctx, misfits)
	if panicked != nil {
		panic(panicked)
	}
	return answers, failed
}

// await sends a question and waits for its answer. Without one and without an error the
// answer did not fit.
func (r *Rounds) await(call, waiting context.Context, key string, send sender) (answer mcp.InputResponse, unfit rendezvous.Misfit, _ error) {
	ctx, cancel := context.WithTimeoutCause(waiting, r.options.AnswerTimeout, errAnswerTimeout)
	defer cancel()
	answer, err := send(ctx)
	switch {
	case err == nil:
		return answer, unfit, nil
	case call.Err() != nil:
		return nil, unfit, interrupted(call)
	case context.Cause(ctx) == errSilence:
		return nil, unfit, errSilence
	case errors.Is(context.Cause(ctx), errAnswerTimeout):
		return nil, unfit, &Error{Reason: TimedOut, Key: key, text: fmt.Sprintf("not answered within %v", r.options.AnswerTimeout)}
	}
	if unfit, ok := rendezvous.ReadMisfit(err); ok {
		return nil, unfit, nil
	}
	return nil, unfit, &Error{Reason: Failed, Key: key, Err: err, text: "got no answer"}
}

func interrupted(ctx context.Context) *Error {
	return &Error{Reason: Interrupted, Err: context.Cause(ctx), text: "the call was interrupted"}
}

// beat reports progress while questions wait, so that the client knows its call is alive.
//
// Progress must grow with every notification, and the handler may report its
// own under the same token before or after. So ours are thousandths that go on
// from round to round: whatever work the handler counts will be more. Behind
// [OrderProgress] they go on from the handler's last progress.
func (r *Rounds) beat(ctx context.Context) {
	tick := time.NewTicker(r.options.ProgressInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.beats++
			// If this does not reach the client, the question will not either, and
			// fails by itself.
			_ = r.session.NotifyProgress(rendezvous.Heartbeat(ctx), &mcp.ProgressNotificationParams{
				ProgressToken: r.token,
				Progress:      float64(r.beats) / 1000,
				Message:       "Waiting for an answer.",
			})
		}
	}
}

// OrderProgress keeps the progress that a server reports of a request increasing, as
// the protocol demands: a notification that is no higher than the one before it with
// the same token is dropped, as when a handler starts to count again in its next round,
// and the heartbeat of a bridge is a little higher. [mcphttp.Handler],
// [wstransport.Handler] and [boundary.Install] have it; over any other transport, and
// without a boundary, call it once for a server whose handlers report progress.
//
// [mcphttp.Handler]: https://pkg.go.dev/github.com/mrtr-go/sdk/transport/mcphttp#Handler
// [wstransport.Handler]: https://pkg.go.dev/github.com/mrtr-go/sdk/transport/wstransport#Handler
// [boundary.Install]: https://pkg.go.dev/github.com/mrtr-go/sdk/boundary#Install
func OrderProgress(server *mcp.Server) { rendezvous.OrderProgress(server) }

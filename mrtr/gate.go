package mrtr

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/sse/era"
)

// LegacyPolicy decides how a call goes on that has a question for a legacy client,
// one of a revision before 2026-07-28.
//
// Some of those clients cannot be asked at all: a stateless HTTP server has no
// stream to ask over, and go-sdk refuses to ask a client that requested a newer
// revision and was negotiated down. Under every policy a tool that asks nothing works,
// and tools/list is complete, unless [Runtime.HideUnaskable] says otherwise.
type LegacyPolicy int

const (
	// LegacyInherit takes the runtime's policy, which is LegacyBridge unless set.
	LegacyInherit LegacyPolicy = iota
	// LegacyBridge asks over the session, in as many rounds as [Options] allow.
	LegacyBridge
	// LegacyNever asks no legacy client, as if none could be asked.
	LegacyNever
	// LegacyPassThrough answers as if the client were modern, for a handler inside
	// another bridge, such as an sse.Bridge of your own. Without one, a legacy client
	// reads the questions as an empty success.
	LegacyPassThrough
)

// UnaskablePolicy decides how a call goes on that has a question for a client, modern
// or legacy, that cannot be asked it: the client did not declare the capability, has
// no session that could carry the question, or its [LegacyPolicy] is LegacyNever.
// Where no default stands in, a modern client that lacks a capability gets the JSON-RPC
// error -32021, and any other call ends with [CannotBeAsked].
type UnaskablePolicy int

const (
	// UnaskableInherit takes the runtime's policy, which is UnaskableRefuse unless set.
	UnaskableInherit UnaskablePolicy = iota
	// UnaskableRefuse ends the call, whatever default the question has.
	UnaskableRefuse
	// UnaskableLegacyDefaults uses the question's default for legacy clients, and
	// refuses modern ones, which could have declared the capability.
	UnaskableLegacyDefaults
	// UnaskableDefaults uses the question's default for every client.
	UnaskableDefaults
)

// inherit puts another policy in place of one that is zero, and refuses one that there is not.
func inherit[P ~int](policy *P, other, last P, option string) error {
	if *policy < 0 || *policy > last {
		return misuse("%s is not a policy: %d", option, *policy)
	}
	*policy = cmp.Or(*policy, other)
	return nil
}

// usesDefaults reports whether a default stands in for an answer of this client, which
// cannot be asked.
func (t *target) usesDefaults(client era.Era) bool {
	return t.unaskable == UnaskableDefaults || t.unaskable == UnaskableLegacyDefaults && client != era.Modern
}

// loops reports whether the engine itself goes through the rounds of a legacy
// client's call. It does so even if it never asks: a round that only carries state
// means nothing to such a client.
func (l LegacyPolicy) loops() bool { return l != LegacyPassThrough }

// asksLegacy reports whether a question may go to a legacy client that can be
// asked, one way or the other.
func (l LegacyPolicy) asksLegacy() bool { return l != LegacyNever }

// gate decides, before anything is asked, whether this client can be asked the
// question. If not, it returns the answer that stands in, or the error.
func (l *ledger) gate(s *spec) (standIn json.RawMessage, _ error) {
	client, policy := l.ex.client, l.target.policy
	asks := client.Era == era.Modern || client.Era == era.Legacy && policy.asksLegacy()
	capability := s.kind.capability()
	switch {
	case asks && client.Declared(capability):
		return nil, nil
	case s.fallback() != nil && l.target.usesDefaults(client.Era):
		return s.fallback(), nil
	case s.lenient:
		return s.outcome(notAsked), nil
	case client.Era == era.Modern:
		return nil, callerror.Lacks(capability.Wire())
	case asks:
		return nil, cannotBeAsked(s.key, capability.String())
	case client.Era == era.Legacy:
		return nil, cannotBeAsked(s.key, needsModern)
	}
	return nil, cannotBeAsked(s.key, needsSession)
}

// A client that cannot be asked, whatever it declared, lacks one of these.
const (
	needsModern  = "protocol revision 2026-07-28"
	needsSession = "protocol revision 2026-07-28, or a session that can carry a question"
)

func cannotBeAsked(key, lacks string) error {
	return &Error{Reason: CannotBeAsked, Key: key, Detail: lacks}
}

// needs are the questions that every call of a handler asks, known before it is
// entered: one list for modern clients, and one for all others, who may get another
// style ([ByVersion]).
type needs struct{ modern, others []*spec }

func alwaysAsks(specs []*spec) needs { return needs{specs, specs} }

// add puts the questions of [HandlerOptions.Needs] before the style's own. One that
// no client can fail to answer is a mistake, since it would do nothing there.
func (n *needs) add(questions []AnyQuestion) error {
	specs, err := specsOf(nil, questions)
	if err != nil {
		return err
	}
	if len(specs) < len(questions) {
		return misuse("HandlerOptions.Needs has a question that is Known: nobody is asked it")
	}
	for _, s := range specs {
		if s.lenient {
			return misuse("HandlerOptions.Needs has question %q, which goes on without an answer: it refuses nobody", s.key)
		}
	}
	n.modern, n.others = slices.Concat(specs, n.modern), slices.Concat(specs, n.others)
	return nil
}

// refuseUnaskable ends a call, before its handler is entered, whose client cannot be
// asked what every call asks. Later, an effect above the question would have run.
func (l *ledger) refuseUnaskable() error {
	s, err := l.unaskable()
	if err != nil {
		l.report(l.life, s, AnswerNotAsked)
	}
	return err
}

// unaskable is the first question that every call asks and that this client cannot be asked,
// with the error of such a call.
func (l *ledger) unaskable() (*spec, error) {
	specs := l.target.needs.others
	if l.ex.client.Era == era.Modern {
		specs = l.target.needs.modern
	}
	for _, s := range specs {
		if _, err := l.gate(s); err != nil {
			return s, err
		}
	}
	return nil, nil
}

// narrow applies [Options.Narrow] to the client of an exchange, before anything else looks at
// it. The context hands the client to code that asks over its session.
func (rt *Runtime) narrow(ctx context.Context, ex *exchange, t *target) (context.Context, error) {
	client, err := rt.narrowed(ex.client, ex.request, ex.session())
	if err != nil {
		l := &ledger{rt: rt, target: t, ex: *ex}
		return ctx, l.refuse(ctx, RequestRefused, "Options.Narrow panicked", err, err)
	}
	ex.client = client
	return context.WithValue(ctx, clientKey{}, client), nil
}

// narrowed is a client as [Options.Narrow] leaves it.
func (rt *Runtime) narrowed(client era.Client, req mcp.Request, session *mcp.ServerSession) (era.Client, error) {
	if rt.opts.Narrow == nil {
		return client, nil
	}
	err := guard(func() error {
		client = client.Narrowed(rt.opts.Narrow(clientInfo(req, session), client))
		return nil
	})
	return client, safeError(err)
}

type clientKey struct{}

// clientOver is the client of a session, as it was narrowed for the request of this context.
func clientOver(ctx context.Context, s *mcp.ServerSession) era.Client {
	if client, ok := ctx.Value(clientKey{}).(era.Client); ok {
		return client
	}
	return era.OfSession(s)
}

// HideUnaskable leaves out of each tools/list the tools that its client could not use: those
// with a [HandlerOptions] Name whose every call asks what this client cannot be asked, and
// has no default to go on with. [HandlerOptions] Needs say so, and so does [AskQuestion]. The
// observer gets a [ToolHidden] for each of them. Any other tool is listed, and so is one of
// several under a name that can be used.
//
// A hidden tool is not removed: a client that calls it gets the error that it would get
// without this. Pages keep their cursors, and may be shorter than the others. The list says
// that it is for this client alone, since an intermediary may otherwise cache it for all.
//
// Call it once for a server, after boundary.Install, which would else take a hidden tool for
// an unknown one.
func (rt *Runtime) HideUnaskable(server *mcp.Server) {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			list, isList := res.(*mcp.ListToolsResult)
			asks, _ := req.(*mcp.ListToolsRequest)
			if err != nil || !isList || list == nil || asks == nil {
				return res, err
			}
			client, err := rt.narrowed(era.ClientOf(asks), req, asks.Session)
			if err != nil {
				return nil, asProtocolError(ctx, err)
			}
			own := *list // the server's own stays whole
			own.Tools = slices.DeleteFunc(append([]*mcp.Tool{}, list.Tools...), func(tool *mcp.Tool) bool {
				return tool != nil && rt.hides(ctx, exchange{method: method, name: tool.Name, client: client, request: req})
			})
			if own.CacheScope == "public" {
				own.CacheScope = "private"
			}
			return &own, nil
		}
	})
}

// hides reports whether no handler of a tool could ask this client, and tells the observer.
func (rt *Runtime) hides(ctx context.Context, ex exchange) bool {
	var l *ledger
	var unaskable error
	for _, t := range rt.registrations.ofName(ex.name) {
		l = &ledger{rt: rt, target: t, ex: ex}
		if _, unaskable = l.unaskable(); unaskable == nil {
			return false
		}
	}
	if unaskable == nil {
		return false
	}
	l.identify()
	var wire *jsonrpc.Error
	reason := unaskable.Error()
	if errors.As(unaskable, &wire) {
		reason += ": " + string(wire.Data)
	}
	l.observe(ctx, Event{Kind: ToolHidden, Reason: reason})
	return true
}

// name notes a tool that says its name.
func (r *registrations) name(t *target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named == nil {
		r.named = map[string][]*target{}
	}
	r.named[t.name] = append(r.named[t.name], t)
}

func (r *registrations) ofName(name string) []*target {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.named[name]
}

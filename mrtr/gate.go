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

// needsOf are the questions of [HandlerOptions.Needs] and those of a style. One of the former
// that no client can fail to answer is a mistake, since it would do nothing there.
func needsOf[In, Out any](s *Style[In, Out], own []AnyQuestion) (n needs, _ error) {
	specs, err := specsOf(nil, own)
	if err != nil {
		return n, err
	}
	if len(specs) < len(own) {
		return n, misuse("HandlerOptions.Needs has a question that is Known: nobody is asked it")
	}
	for _, q := range specs {
		if q.lenient {
			return n, misuse("HandlerOptions.Needs has question %q, which goes on without an answer: it refuses nobody", q.key)
		}
	}
	legacy := s
	if s.legacy != nil {
		legacy = s.legacy
	}
	for _, style := range []struct {
		asks []AnyQuestion
		all  *[]*spec
	}{{s.Asks, &n.modern}, {legacy.Asks, &n.others}} {
		asks, err := specsOf(nil, style.asks)
		if err != nil {
			return n, err
		}
		*style.all = slices.Concat(specs, asks) // which may name the same question
	}
	return n, nil
}

// refuseUnaskable ends a call, before its handler is entered, whose client cannot be
// asked what every call asks. Later, an effect above the question would have run.
func (l *ledger) refuseUnaskable() error {
	s, err := l.unaskable()
	if err != nil {
		l.report(s, HowNotAsked)
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
		r := newRound(t, *ex)
		r.life = ctx
		r.endedWith(ctx, Outcome{Refused: RefusedRequest, Why: "Options.Narrow panicked", Cause: err, Err: err})
		return ctx, err
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

// hides reports whether no handler of a tool could ask this client, and tells the listener.
func (rt *Runtime) hides(ctx context.Context, ex exchange) bool {
	var r *round
	var unaskable error
	for _, t := range rt.registrations.ofName(ex.name) {
		r = newRound(t, ex)
		if _, unaskable = r.unaskable(); unaskable == nil {
			return false
		}
	}
	if unaskable == nil {
		return false
	}
	reason := unaskable.Error()
	if wire := (*jsonrpc.Error)(nil); errors.As(unaskable, &wire) {
		reason += ": " + string(wire.Data)
	}
	r.life = ctx
	r.locked(func() { r.hear(Entry{Kind: Hidden, Key: ex.name, Reason: reason}) })
	return true
}

// ClientInfo is what the client of a request calls itself: in the request, or in the initialize of
// its session.
func ClientInfo(req mcp.Request) mcp.Implementation {
	if req == nil {
		return mcp.Implementation{}
	}
	session, _ := req.GetSession().(*mcp.ServerSession)
	return clientInfo(req, session)
}

func clientInfo(req mcp.Request, session *mcp.ServerSession) (own mcp.Implementation) {
	switch info := requestMeta(req)[mcp.MetaKeyClientInfo].(type) {
	case map[string]any:
		own.Name, _ = info["name"].(string)
		own.Title, _ = info["title"].(string)
		own.Version, _ = info["version"].(string)
	case *mcp.Implementation:
		if info != nil {
			own = *info
		}
	default:
		if session == nil {
			break
		}
		if p := session.InitializeParams(); p != nil && p.ClientInfo != nil {
			own = *p.ClientInfo
		}
	}
	return own
}

// requestMeta is the _meta of a request, nil for one without.
func requestMeta(req mcp.Request) map[string]any {
	if req == nil || req.GetParams() == nil {
		return nil
	}
	return req.GetParams().GetMeta()
}

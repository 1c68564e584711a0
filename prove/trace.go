package prove

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
)

// A trace is a list of requests about one call or several. The rules about consent and single
// use are traces that were written down, and random ones are made of the same acts.

// say is how a request answers the questions of the round before.
type say string

const (
	yes     say = "yes"
	others  say = "yes, with other content"
	more    say = "yes, and with more than was asked for"
	no      say = "no"
	decline say = "declined"
	cancel  say = "cancelled"
	silent  say = "nothing"
)

// place is who sends a request, and where to.
type place string

const (
	here    place = ""
	anew    place = "over a new connection"
	there   place = "to another instance"
	another place = "by another user"
)

// manner is how a request is sent.
type manner string

const (
	once    manner = ""
	atOnce  manner = "six times at once"
	hangUp  manner = "hanging up before the answer"
	expired manner = "after its time"
	beside  manner = "at the same time as the request before"
)

// act is one request of a trace.
type act struct {
	on  int // the act whose reply it answers; -1 begins a call
	say say
	at  place
	how manner
	// again is an act before, whose intent this first request has too: the client plays its call
	// again, from the beginning.
	again int
	other bool // the arguments are others
}

func begin() act { return act{on: -1, again: -1} }

func answer(on int, s say) act { return act{on: on, say: s, again: -1} }

func (a act) String() string {
	what := fmt.Sprintf("answer %d with %s", a.on+1, a.say)
	if a.on < 0 {
		what = "begin a call"
		if a.again >= 0 {
			what = fmt.Sprintf("begin again as in %d", a.again+1)
		}
	}
	if a.other {
		what += ", with other arguments"
	}
	for _, more := range []string{string(a.at), string(a.how)} {
		if more != "" {
			what += ", " + more
		}
	}
	return what
}

// straight is an honest call: its first request, and a yes in each round up to one.
func straight(rounds int) []act {
	all := []act{begin()}
	for i := range rounds {
		all = append(all, answer(i, yes))
	}
	return all
}

// moved is a trace all of whose requests come from another place.
func moved(acts []act, at place) []act {
	for i := range acts {
		acts[i].at = at
	}
	return acts
}

// zipped takes the acts of two calls in turns.
func zipped(one, two []act) (acts []act) {
	for i, a := range one {
		b := two[i]
		if i > 0 {
			a.on, b.on = 2*a.on, 2*b.on+1
		}
		acts = append(acts, a, b)
	}
	return acts
}

// performed is a trace that was played.
type performed struct {
	acts    []act
	replies []exchange // of each act; an act on a reply that asks nothing has none
	facts   []fact
}

// fact is what the person has to do with an act.
type fact struct {
	intent int  // the act that began it
	round  int  // of the call
	agreed bool // they said yes in it
	sound  bool // nobody else has had a hand in it, and nothing was too late
}

// perform plays a trace.
func (t *trial) perform(acts []act) *performed {
	t.reset()
	p := &performed{acts, make([]exchange, len(acts)), make([]fact, len(acts))}
	key := rand.Text()
	for from, to := 0, 1; from < len(acts); from, to = to, to+1 {
		for to < len(acts) && acts[to].how == beside {
			to++
		}
		t.sendAtOnce(p, key, from, to)
	}
	return p
}

// sendAtOnce plays some acts of a trace at the same time.
func (t *trial) sendAtOnce(p *performed, key string, from, to int) {
	var sends []func()
	for i := from; i < to; i++ {
		r, ok := t.requestOf(p, p.acts[i])
		p.facts[i] = t.factOf(p, i)
		if !ok {
			p.facts[i].agreed = false
			continue
		}
		c := t.clientOf(p.acts[i])
		r = t.underKey(r, key)
		sends = append(sends, func() { p.replies[i] = t.sendAs(c, r, p.acts[i]) })
	}
	if len(sends) == 1 {
		sends[0]() // which may end the rule
		return
	}
	t.sideBySide(len(sends), func(n int) { sends[n]() })
}

// whole says that every act was sent and answered: the calls asked as the honest one did.
func (p *performed) whole() bool {
	return !slices.ContainsFunc(p.replies, func(s exchange) bool { return s.reply == nil })
}

// underKey is a request that says by a key which call it belongs to, if the rule is about that.
func (t *trial) underKey(r wire.Request, key string) wire.Request {
	if !t.keyed {
		return r
	}
	c := t.client()
	return withParam(c, r, "_meta", with(c.Meta(), t.scenario.Key, key))
}

// factOf says what the person has agreed to by an act.
func (t *trial) factOf(p *performed, i int) fact {
	a := p.acts[i]
	if a.on < 0 {
		intent := i
		if a.again >= 0 {
			intent = p.facts[a.again].intent
		}
		return fact{intent: intent, agreed: true, sound: true}
	}
	root, before := p.acts[a.on], p.facts[a.on]
	f := fact{intent: before.intent, round: t.roundOf(p.replies[a.on], before.round)}
	f.sound = before.sound && (a.at == another) == (root.at == another) && a.how != expired && a.other == root.other
	f.agreed = f.sound && (a.say == yes || a.say == others || a.say == more)
	return f
}

// roundOf is the round of the request that answers a reply.
func (t *trial) roundOf(s exchange, before int) int {
	for i := range t.final() {
		if s.asks() && t.asksAsBefore(s, i) {
			return i + 1
		}
	}
	return before + 1
}

// requestOf is the request of an act. It is none where there is nothing to answer.
func (t *trial) requestOf(p *performed, a act) (r wire.Request, ok bool) {
	if a.on < 0 {
		return t.begins(a), true
	}
	s := p.replies[a.on]
	if s.reply == nil || !s.asks() {
		return r, false
	}
	s.request = t.begins(a)
	r = t.next(s, func(q wire.Question) any { return t.says(a.say, q) })
	if a.say == more {
		r = withResponse(r, "nobody_asked", accepting(map[string]any{"a": "b"}))
	}
	return r, true
}

func (t *trial) begins(a act) wire.Request {
	if a.other {
		return t.request(t.scenario.OtherArguments)
	}
	return t.request(t.scenario.Arguments)
}

// says is the response of a user.
func (t *trial) says(s say, q wire.Question) any {
	switch s {
	case others:
		if other := t.otherwise(q); other != nil {
			return other
		}
	case no:
		if all := t.noes(q); len(all) > 0 {
			return accepting(all[0])
		}
	case decline, cancel:
		action := map[say]string{decline: "decline", cancel: "cancel"}[s]
		if q.Method == "elicitation/create" {
			return map[string]any{"action": action}
		}
		return nil
	case silent:
		return nil
	}
	return t.honestly(q)
}

// clientOf is the client that sends an act.
func (t *trial) clientOf(a act) *wire.Client {
	switch {
	case a.at == here && a.how == hangUp, a.at == anew:
		return t.another(t.subject.Dial)
	case a.at == there:
		return t.another(t.subject.Fresh)
	case a.at == another:
		return t.dial(t.subject.Dial, t.subject.Other, nil)
	}
	return t.client()
}

// sendAs sends a request in the manner of an act.
func (t *trial) sendAs(c *wire.Client, r wire.Request, a act) exchange {
	switch a.how {
	case hangUp:
		t.loseResponse(c, r)
		return exchange{request: r}
	case expired:
		if err := t.subject.Expire(t.ctx); err != nil {
			t.fail("nothing expired: %v", err)
		}
	case atOnce:
		all := make([]exchange, 6)
		t.sideBySide(len(all), func(i int) { all[i] = t.send(c, r) })
		done := slices.IndexFunc(all, exchange.complete)
		return all[max(done, 0)]
	}
	s := t.send(c, r)
	if a.at == there {
		t.leave(c)
	}
	return s
}

// sideBySide does things at once.
func (t *trial) sideBySide(n int, do func(i int)) {
	done := make(chan struct{}, n)
	for i := range n {
		go func() { do(i); done <- struct{}{} }()
	}
	for range n {
		<-done
	}
}

// loseResponse sends a request, and hangs up as soon as an effect shows or it was answered.
func (t *trial) loseResponse(c *wire.Client, r wire.Request) {
	defer t.leave(c)
	ctx, cancel := context.WithTimeout(t.ctx, t.patience)
	defer cancel()
	before := t.counted()
	answered, err := t.start(ctx, c, r)
	for err == nil {
		select {
		case <-answered:
			return
		case <-time.After(5 * time.Millisecond):
			if t.subject.Effects != nil && len(grown(before, t.counted())) > 0 {
				return
			}
		}
	}
}

// allowed are the effects that the person has agreed to in a trace: for each intent those of an
// honest call, up to the last round that got its yes, once.
func (t *trial) allowed(p *performed) effects {
	rounds, sum := map[int]map[int]bool{}, effects{}
	for _, f := range p.facts {
		if f.agreed {
			if rounds[f.intent] == nil {
				rounds[f.intent] = map[int]bool{}
			}
			rounds[f.intent][f.round] = true
		}
	}
	for _, agreed := range rounds {
		for round := range agreed {
			if round < len(t.stages) {
				sum = plus(sum, t.stages[round])
			}
		}
	}
	return sum
}

// last is the exchange that a finding shows: of the last act that was sent.
func (p *performed) last() exchange {
	for i := len(p.replies) - 1; i >= 0; i-- {
		if p.replies[i].reply != nil || p.replies[i].err != nil {
			return p.replies[i]
		}
	}
	return exchange{}
}

// excess plays a trace, and says which effects nobody has agreed to.
func (t *trial) excess(acts []act) (p *performed, happened effects, too string) {
	since := t.counting()
	p = t.perform(acts)
	happened = since()
	return p, happened, t.unexplained(happened, t.allowed(p))
}

// must plays a trace, and ends the rule if it had effects that nobody has agreed to.
func (t *trial) must(outcome Outcome, acts []act, why string) *performed {
	p, happened, too := t.excess(acts)
	t.heldAgainst(happened, p)
	if too == "" {
		return p
	}
	shortest := t.shrunk(acts)
	if q, _, still := t.excess(shortest); still != "" {
		acts, p, too = shortest, q, still
	}
	t.showTrace(acts)
	t.endAt(outcome, p.last(), "%s %s", too, why)
	return p
}

// showTrace puts the acts of a trace into the finding.
func (t *trial) showTrace(acts []act) {
	t.finding.Trace = nil
	for i, a := range acts {
		t.finding.Trace = append(t.finding.Trace, fmt.Sprintf("%d. %s", i+1, a))
	}
}

// repeats is how a second effect of one intent comes out: the person was promised one.
func (t *trial) repeats() Outcome {
	if t.scenario.Repeatable {
		return Note
	}
	return Fail
}

// curlOf is the trace as commands for a shell; "" for a server that is not at a URL.
func curlOf(url string, acts []act, replies []exchange) string {
	if url == "" {
		return ""
	}
	var b strings.Builder
	for i, a := range acts {
		r := replies[i].request
		if r.Name == "" {
			continue
		}
		params := paramsOf(r)
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": wire.Modern, "io.modelcontextprotocol/clientInfo": map[string]any{"name": "curl", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}}},
		}
		if a.on >= 0 && r.State != "" {
			params["requestState"] = fmt.Sprintf("$STATE%d", a.on+1)
		}
		body := marshal(map[string]any{"jsonrpc": "2.0", "id": i + 1, "method": "tools/call", "params": params})
		body = strings.ReplaceAll(body, `'`, `'\''`)
		body = strings.ReplaceAll(body, fmt.Sprintf(`"$STATE%d"`, a.on+1), fmt.Sprintf(`"'"$STATE%d"'"`, a.on+1))
		fmt.Fprintf(&b, "curl -s -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: %s' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: %s' -d '%s' %s | tee reply%d\n",
			wire.Modern, r.Name, body, url, i+1)
		if i+1 < len(acts) {
			fmt.Fprintf(&b, "STATE%d=$(grep -o '\"requestState\":\"[^\"]*' reply%d | cut -d'\"' -f4)\n", i+1, i+1)
		}
	}
	return b.String()
}

// with is a copy of an object in which one member is another.
func with(object map[string]any, name string, value any) map[string]any {
	changed := maps.Clone(object)
	if changed == nil {
		changed = map[string]any{}
	}
	changed[name] = value
	return changed
}

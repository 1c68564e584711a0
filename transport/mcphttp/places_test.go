package mcphttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// The limits of a house, and the shares of them that callers without a token have together.
const (
	mostCalls, mostOfOne, mostOfSession, crowdCalls       = 8, 4, 2, 6
	mostSessions, mostSessionsOfOne, crowdSessions        = 4, 2, 3
	idleFor                                               = 30 * time.Minute
	taken, ok, share, full, unknown, foreign, unavailable = 0, 200, 429, 503, 404, 403, 503
)

// house is a handler, with a model of who is inside.
type house struct {
	t       *testing.T
	r       *rand.Rand
	h       http.Handler
	handler *mcphttp.Handler
	refused string // the reason given last

	mu      sync.Mutex
	release map[int]chan struct{} // guarded by mu: of the handlers that run
	n       int                   // of the last call

	visits   []*visit
	sessions []*stay
	rested   int
	outcomes map[string]int
}

// visit is a POST with calls whose handlers have not all returned.
type visit struct {
	user, from string
	session    *stay
	calls      map[int]bool // those that run, and whether their handlers heed their context
	places     int
	hungUp     bool
	hangUp     context.CancelFunc
	answer     <-chan response
}

// stay is a session.
type stay struct {
	id, user string
	rested   int // the order in which it became idle
	since    time.Time
	gone     bool
}

func (g *house) tool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		N     int
		Heeds bool
	}
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil || req.Extra.Header.Get("Mrtr-Post") != "" {
		return nil, fmt.Errorf("a header of the handler's own, or %w", err)
	}
	released := make(chan struct{})
	g.mu.Lock()
	g.release[in.N] = released
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.release, in.N)
	}()
	select {
	case <-released:
	case <-onlyIf(in.Heeds, ctx.Done()):
	}
	return say(fmt.Sprint("over ", in.N))
}

// admits is what the limits say to n more calls.
func (g *house) admits(user, from string, n int) int {
	total, own, crowd := 0, 0, 0
	for _, v := range g.visits {
		total += v.places
		if v.user == "" {
			crowd += v.places
		}
		if v.user == user && (user != "" || v.from == from) {
			own += v.places
		}
	}
	switch {
	case total+n > mostCalls:
		return full
	case own+n > mostOfOne:
		return share
	case user == "" && crowd+n > crowdCalls:
		return full
	}
	return ok
}

// open opens a session, if there is room or an idle one to end for it.
func (g *house) open(user, from string) {
	want := g.admits(user, from, 1)
	if want == ok {
		own, most := 0, mostSessionsOfOne
		if user == "" {
			most = crowdSessions
		}
		for _, s := range g.sessions {
			if s.user == user {
				own++
			}
		}
		switch {
		case own >= most && !g.evict(func(s *stay) bool { return s.user == user }):
			want = unavailable
		case len(g.sessions) >= mostSessions && !g.evict(func(*stay) bool { return true }):
			want = unavailable
		}
	}
	res := serve(g.h, legacy(initializeBody).as(user).with("From: "+from))
	g.require(want, res, "open")
	if want == ok {
		g.sessions = append(g.sessions, &stay{id: res.header.Get("Mcp-Session-Id"), user: user})
		g.rest(g.sessions[len(g.sessions)-1])
	}
}

func (g *house) rest(s *stay) {
	if s != nil {
		g.rested++
		s.rested, s.since = g.rested, time.Now()
	}
}

// busy reports whether a POST of a session is served.
func (g *house) busy(s *stay) bool {
	return slices.ContainsFunc(g.visits, func(v *visit) bool { return v.session == s && !v.hungUp })
}

func (g *house) evict(among func(*stay) bool) bool {
	var longest *stay
	for _, s := range g.sessions {
		if among(s) && !g.busy(s) && (longest == nil || s.rested < longest.rested) {
			longest = s
		}
	}
	g.leave(longest)
	return longest != nil
}

func (g *house) leave(s *stay) {
	if s != nil {
		s.gone = true
		g.sessions = slices.DeleteFunc(g.sessions, func(other *stay) bool { return other == s })
	}
}

// call begins calls: modern ones, or those of a session.
func (g *house) call(user, from string, s *stay, size int) {
	v := &visit{user: user, from: from, session: s, calls: map[int]bool{}, places: size}
	var parts []string
	var id, as string
	for range size {
		g.n++
		heeds := g.r.IntN(2) == 0
		v.calls[g.n] = heeds
		parts = append(parts, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool","arguments":{"N":%d,"Heeds":%t},META}}`, g.n, g.n, heeds))
	}
	body := strings.Join(parts, ",")
	if size > 1 {
		body = "[" + body + "]"
	}
	p, want := modernPost("tools/call", "tool", strings.ReplaceAll(body, "META", modernMeta)), g.admits(user, from, size)
	if s != nil {
		id, as = s.id, s.user
		p = legacy(strings.ReplaceAll(body, "META", `"x":0`))
		inside := size
		for _, other := range g.visits {
			if other.session == s {
				inside += other.places
			}
		}
		switch {
		case want != ok:
		case s.gone:
			want = unknown
		case as != "" && user != as:
			want = foreign
		case inside > mostOfSession:
			want = share
		}
	}
	var ctx context.Context
	ctx, v.hangUp = context.WithCancel(g.t.Context())
	v.answer = begin(ctx, g.h, p.in(id).as(user).with("From: "+from))
	synctest.Wait()
	if s != nil && !s.gone && (as == "" || user == as) {
		g.rest(s)
	}
	if want == ok {
		select {
		case res := <-v.answer:
			require.FailNow(g.t, "refused", "%d %s\n%+v", res.status, res.body, g.visits)
		default:
		}
		g.visits = append(g.visits, v)
		g.outcomes["taken"]++
		return
	}
	v.hangUp()
	g.require(want, <-v.answer, "call")
}

// require checks a status, and the reason and the header of a refusal.
func (g *house) require(want int, res response, what string) {
	g.t.Helper()
	require.Equal(g.t, want, res.status, "%s: %s", what, res.body)
	require.Equal(g.t, map[int]string{share: "share", full: "overload"}[want], g.refused, what)
	require.Equal(g.t, want == share || want == full, res.header.Get("Retry-After") != "", what)
	g.refused = ""
	g.outcomes[fmt.Sprint(what, " ", want)]++
}

// end ends handlers: those that n names, or those of a client that hangs up and heed that.
func (g *house) end(v *visit, n int) {
	if n > 0 {
		g.mu.Lock()
		close(g.release[n])
		g.mu.Unlock()
		delete(v.calls, n)
	} else {
		v.hungUp = true
		v.hangUp()
		maps.DeleteFunc(v.calls, func(_ int, heeds bool) bool { return heeds })
	}
	if v.hungUp { // else the POST keeps all its places
		v.places = len(v.calls)
	}
	synctest.Wait()
	if len(v.calls) == 0 {
		g.visits = slices.DeleteFunc(g.visits, func(other *visit) bool { return other == v })
		v.hangUp()
	}
	if n == 0 {
		g.rest(v.session)
	} else if len(v.calls) == 0 && !v.hungUp {
		require.Contains(g.t, (<-v.answer).body, fmt.Sprint("over ", n))
		g.rest(v.session)
	}
}

func (g *house) step() {
	user, from := []string{"", "", "ann", "bob"}[g.r.IntN(4)], fmt.Sprint("192.0.2.1:", 1+g.r.IntN(3))
	switch g.r.IntN(12) {
	case 0, 1:
		g.open(user, from)
	case 2, 3:
		g.call(user, from, nil, 1)
	case 4, 5, 6:
		if len(g.sessions) > 0 {
			s := g.sessions[g.r.IntN(len(g.sessions))]
			if g.r.IntN(8) > 0 {
				user = s.user
			}
			g.call(user, from, s, 1+g.r.IntN(2))
		}
	case 7, 8, 9, 10:
		if len(g.visits) == 0 {
			return
		}
		v := g.visits[g.r.IntN(len(g.visits))]
		if !v.hungUp && g.r.IntN(2) == 0 {
			g.end(v, 0)
			return
		}
		for n := range v.calls {
			g.end(v, n)
			return
		}
	default:
		time.Sleep(11 * time.Minute)
		for _, s := range slices.Clone(g.sessions) {
			if !g.busy(s) && time.Since(s.since) >= idleFor {
				g.leave(s)
				g.outcomes["expired"]++
				if !slices.ContainsFunc(g.visits, func(v *visit) bool { return v.session == s }) { // else go-sdk waits for them
					g.call(s.user, from, s, 1)
				}
			}
		}
	}
	synctest.Wait()
	require.Equal(g.t, len(g.sessions), mcphttp.OpenSessions(g.handler))
	g.mu.Lock()
	defer g.mu.Unlock()
	running := 0
	for _, v := range g.visits {
		running += len(v.calls)
	}
	require.Len(g.t, g.release, running)
}

// Whoever comes and goes, however they do: no more is let in than the limits say, what is let
// in runs, and what has ended leaves its place to others. A handler that outlives its client
// keeps its place.
func TestPlacesAreGivenAndTakenBack(t *testing.T) {
	outcomes, before := map[string]int{}, mcphttp.Posts()
	for seed := range uint64(24) {
		synctest.Test(t, func(t *testing.T) {
			g := &house{t: t, r: rand.New(rand.NewPCG(5, seed)), release: map[int]chan struct{}{}, outcomes: outcomes}
			g.handler = newHandler(t, rawServer(g.tool), mcphttp.HandlerOptions{
				MaxCalls: mostCalls, MaxCallsPerPrincipal: mostOfOne, StockFront: seed%2 == 0, Refused: func(reason string) { g.refused = reason },
			}, mcphttp.Limits{CallsOfOne: mostOfSession, Sessions: mostSessions, SessionsOfOne: mostSessionsOfOne, Silence: idleFor})
			g.h = named(g.handler)
			for range 150 {
				g.step()
			}
			for len(g.visits) > 0 {
				for n := range g.visits[0].calls {
					g.end(g.visits[0], n)
					break
				}
			}
			require.Equal(t, before, mcphttp.Posts())
		})
	}
	t.Log(outcomes)
	for _, outcome := range []string{"taken", "expired", "open 200", "open 429", "open 503", "call 403", "call 404", "call 429", "call 503"} {
		require.Greater(t, outcomes[outcome], 5, outcome)
	}
}

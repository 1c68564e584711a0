package mcphttp

import (
	"container/list"
	"context"
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
)

// SessionIDs makes the ids of an instance's legacy sessions, for GetSessionID of
// [mcp.ServerOptions]: the name of the instance, a dot, and a random text. A [Router]
// routes by them; so can any load balancer that looks at the start of a header. It panics
// with a [*UsageError] if no instance can have the name.
func SessionIDs(instance string) func() string {
	if err := statecodec.CheckInstance(instance); err != nil {
		panic(usage.New("mcphttp", "%w", err))
	}
	return func() string { return instance + "." + rand.Text() }
}

// bytesPerSession times the most sessions is the size that the initialize messages of all
// of them may take together. go-sdk keeps each, decoded, until its session ends.
const bytesPerSession = 2 << 10

// sessions are the legacy sessions that are open or being opened. go-sdk's handler
// neither counts its sessions nor closes them all, and finding one in
// [mcp.Server.Sessions] copies the whole list, so they are known by id here.
type sessions struct {
	limits
	end func(*session) // closes it in go-sdk, and may block on its handlers

	ending sync.WaitGroup // one for each call of end

	// All guarded by mu.
	mu       sync.Mutex
	open     map[string]*session
	held     int // open, or being opened
	bytes    int64
	owners   map[string]*owner
	idle     list.List // of *session, the longest idle first
	draining bool
}

// owner is a principal with sessions.
type owner struct {
	held int
	idle list.List
}

// session is a place that is taken. Its fields are guarded by mu of sessions, but for
// subscriptions and repeats, which have their own.
type session struct {
	id        string
	principal string
	ctx       context.Context // of the request that opened it, without its end; go-sdk keeps it too
	bytes     int64
	running   int // POSTs
	calls     int // of them, and of handlers that outlive theirs
	since     time.Time
	timer     *time.Timer
	place     *list.Element // in sessions.idle; nil when it is not idle
	ownPlace  *list.Element // in owner.idle
	gone      bool          // its place was given back
	ending    *ending       // by a DELETE that is under way
	posts     map[*post]struct{}

	subscriptions inflight.Subscriptions
	repeats       inflight.Repeats
}

// claim takes a place for a session that r is about to open with an initialize of
// so many bytes. If there is none, it ends the session that is idle longest:
// one of the same principal if that one has its share, else any. It returns nil
// when no session is idle.
func (s *sessions) claim(r *http.Request, bytes int64) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil
	}
	c := &session{principal: inflight.Principal(r), ctx: context.WithoutCancel(r.Context()), bytes: bytes}
	o, share := s.owners[c.principal], inflight.CrowdOf(s.limits.sessions)
	if c.principal != "" {
		share = min(share, s.sessionsOfOne)
	}
	if o != nil && o.held >= share && !s.evict(&o.idle) {
		return nil
	}
	for s.held >= s.limits.sessions || s.held > 0 && s.bytes+bytes > int64(s.limits.sessions)*bytesPerSession {
		if !s.evict(&s.idle) {
			return nil
		}
	}
	if o = s.owners[c.principal]; o == nil { // or gone with its last session
		o = &owner{}
		s.owners[c.principal] = o
	}
	o.held++
	s.held++
	s.bytes += bytes
	return c
}

func (s *sessions) evict(idle *list.List) bool {
	longest := idle.Front()
	if longest == nil {
		return false
	}
	s.close(longest.Value.(*session))
	return true
}

// opened gives a place its session.
func (s *sessions) opened(c *session, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.id = id
	if old := s.open[id]; old != nil { // the server's GetSessionID repeats itself
		s.leave(old)
	}
	s.open[id] = c
	if s.draining {
		s.close(c)
		return
	}
	c.timer = time.AfterFunc(s.silence, func() { s.expire(c) })
	s.rest(c)
}

// give gives a place back.
func (s *sessions) give(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(c)
}

// find is the session that a request uses, nil if go-sdk refuses it: a session without a
// principal is anybody's who has its id. The caller holds s.mu.
func (s *sessions) find(id, principal string) *session {
	if c := s.open[id]; c != nil && (c.principal == "" || c.principal == principal) {
		return c
	}
	return nil
}

// use keeps a session from being idle until the function it returns is called.
func (s *sessions) use(id, principal string) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(id, principal)
	if c == nil {
		return func() {} // go-sdk refuses it
	}
	c.running++
	s.unrest(c)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.running--; c.running == 0 && !c.gone {
			s.rest(c)
		}
	}
}

// enter counts the calls of a POST until their handlers have returned, unless the
// session has too many in flight.
func (s *sessions) enter(id, principal string, calls []jsonrpc.ID, p *post) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(id, principal)
	if c == nil {
		return nil // go-sdk refuses it
	}
	if c.calls+len(calls) > s.callsOfOne {
		return inflight.ErrShare
	}
	c.calls += len(calls)
	p.ids = calls
	if c.posts == nil {
		c.posts = map[*post]struct{}{}
	}
	c.posts[p] = struct{}{}
	p.free = append(p.free, func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.calls -= n
	})
	p.forget = append(p.forget, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(c.posts, p)
	})
	return nil
}

// runs reports whether a session has a call with this id in flight.
func (s *sessions) runs(session string, id jsonrpc.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open[session]
	if c == nil {
		return false
	}
	for p := range c.posts {
		if slices.Contains(p.ids, id) {
			return true
		}
	}
	return false
}

// repeats finds the call of a POST to a session, nil if it is none that is kept. first is false where
// another POST makes it.
func (s *sessions) repeats(id, principal string, body contents, raw []byte, p *post) (call *inflight.Repeat, first bool) {
	if !body.round {
		return nil, true
	}
	s.mu.Lock()
	c := s.find(id, principal)
	s.mu.Unlock()
	if c == nil {
		return nil, true // go-sdk refuses it
	}
	return c.repeats.Begin(body.calls[0], append([]byte(principal+"\x00"), raw...), p.cancel) // a session may have several users
}

// posts are those of a session whose handlers run, whether or not their clients wait.
func (s *sessions) posts(id, principal string) []*post {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(id, principal)
	if c == nil {
		return nil
	}
	return slices.Collect(maps.Keys(c.posts))
}

// subscribe notes the subscriptions of a session, unless they are too many.
func (s *sessions) subscribe(id, principal string, requests []*jsonrpc.Request) *jsonrpc.Error {
	if len(requests) == 0 {
		return nil
	}
	s.mu.Lock()
	c := s.find(id, principal)
	s.mu.Unlock()
	if c == nil {
		return nil // go-sdk refuses it
	}
	for _, request := range requests {
		if err := c.subscriptions.Note(request.Method, request.Params); err != nil {
			return err
		}
	}
	return nil
}

// ends is the end of a session. first is true for the DELETE that is to bring it about.
func (s *sessions) ends(id, principal string) (e *ending, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(id, principal)
	if c != nil && c.ending != nil {
		return c.ending, false
	}
	e = &ending{answer{header: http.Header{}}, make(chan struct{})}
	if c != nil { // else go-sdk refuses it
		c.ending = e
	}
	return e, true
}

// ended drops a session that go-sdk has closed. One that it has not may be ended again.
func (s *sessions) ended(id string, e *ending, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch c := s.open[id]; {
	case c == nil:
	case closed:
		s.leave(c)
	case c.ending == e:
		c.ending = nil
	}
}

func (s *sessions) expire(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.place != nil && time.Since(c.since) >= s.silence {
		s.close(c)
	}
}

func (s *sessions) rest(c *session) {
	c.since = time.Now()
	c.timer.Reset(s.silence)
	c.place = s.idle.PushBack(c)
	c.ownPlace = s.owners[c.principal].idle.PushBack(c)
}

func (s *sessions) unrest(c *session) {
	if c.place == nil {
		return
	}
	c.timer.Stop()
	s.idle.Remove(c.place)
	s.owners[c.principal].idle.Remove(c.ownPlace)
	c.place, c.ownPlace = nil, nil
}

func (s *sessions) leave(c *session) {
	if c.gone {
		return
	}
	c.gone = true
	s.unrest(c)
	if c.timer != nil {
		c.timer.Stop()
	}
	if s.open[c.id] == c {
		delete(s.open, c.id)
	}
	o := s.owners[c.principal]
	if o.held--; o.held == 0 {
		delete(s.owners, c.principal)
	}
	s.held--
	s.bytes -= c.bytes
}

func (s *sessions) close(c *session) {
	s.leave(c)
	s.ending.Go(func() { s.end(c) })
}

// closeAll begins to close every session, and each that still comes, and returns a
// channel that closes when the last one is closed.
func (s *sessions) closeAll() <-chan struct{} {
	s.mu.Lock()
	s.draining = true
	for _, c := range s.open {
		s.close(c)
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.ending.Wait()
		close(done)
	}()
	return done
}

package mcphttp

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// postHeader names the post of a request of a session to the middleware of its
// calls. Their contexts come from the request that opened the session, and the
// headers are all that go-sdk hands on from their own.
const postHeader = "Mrtr-Post"

type postKey struct{}

// post is one POST. Its calls are in flight until their handlers have returned.
type post struct {
	free []func(calls int) // give back the places of calls

	mu      sync.Mutex
	running map[*context.CancelCauseFunc]struct{}
	over    bool
	forget  func()
}

// begin counts a handler until the function it returns is called.
func (p *post) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over { // it was cancelled before it began
		return ctx, func() { cancel(nil) }
	}
	if p.running == nil {
		p.running = map[*context.CancelCauseFunc]struct{}{}
	}
	p.running[&cancel] = struct{}{}
	return ctx, func() {
		cancel(nil)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, &cancel)
		if p.over {
			p.leave(1)
		}
	}
}

// cancel cancels the handlers that run.
func (p *post) cancel(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for cancel := range p.running {
		(*cancel)(cause)
	}
}

// end gives back the places of the calls whose handlers have returned. The others give
// theirs back themselves.
func (p *post) end(calls int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.leave(calls - len(p.running))
}

func (p *post) leave(calls int) {
	for _, free := range p.free {
		free(calls)
	}
	if len(p.running) == 0 && p.forget != nil {
		p.forget()
	}
}

// posts are those of sessions, by the value of postHeader.
type posts struct{ sync.Map }

// name returns the request with the header that names its post.
func (ps *posts) name(r *http.Request, p *post) *http.Request {
	key := rand.Text()
	ps.Store(key, p)
	p.forget = func() { ps.Delete(key) }
	named := r.Clone(r.Context())
	named.Header.Set(postHeader, key)
	return named
}

// of finds the post of a call, nil where it has none, and takes the header off it.
func (ps *posts) of(req mcp.Request) *post {
	extra := req.GetExtra()
	if extra == nil || extra.Header.Get(postHeader) == "" {
		return nil
	}
	p, _ := ps.Load(extra.Header.Get(postHeader))
	extra.Header = extra.Header.Clone() // the calls of a batch share it
	extra.Header.Del(postHeader)
	found, _ := p.(*post)
	return found
}

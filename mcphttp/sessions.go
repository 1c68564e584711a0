package mcphttp

import (
	"context"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions are the legacy sessions that are open, since go-sdk's handler has no
// way to close them all. Each leaves by itself when it ends.
type sessions struct {
	mu     sync.Mutex
	open   map[*mcp.ServerSession]struct{}
	closed bool
	gone   sync.WaitGroup
}

func (s *sessions) add(session *mcp.ServerSession) {
	if session == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		go session.Close()
		return
	}
	if s.open == nil {
		s.open = map[*mcp.ServerSession]struct{}{}
	}
	s.open[session] = struct{}{}
	s.gone.Go(func() {
		_ = session.Wait() // how it ended is the transport's matter
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, session)
	})
}

// close begins to close every session and returns a channel that closes when the
// last is gone. One that comes later is closed at once.
func (s *sessions) close() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for session := range s.open {
		go session.Close()
	}
	done := make(chan struct{})
	go func() {
		s.gone.Wait()
		close(done)
	}()
	return done
}

// opening finds the session that a request opens: go-sdk's handler asks for the
// server it belongs to, and puts its id into the response.
type opening struct{ server *mcp.Server }

type openingKey struct{}

func expectSession(r *http.Request) (*http.Request, *opening) {
	o := &opening{}
	return r.WithContext(context.WithValue(r.Context(), openingKey{}, o)), o
}

// rememberServer remembers the server that was named last, which is the one that
// go-sdk connects.
func rememberServer(getServer func(*http.Request) *mcp.Server) func(*http.Request) *mcp.Server {
	return func(r *http.Request) *mcp.Server {
		server := getServer(r)
		if o, ok := r.Context().Value(openingKey{}).(*opening); ok {
			o.server = server
		}
		return server
	}
}

// session is nil where the request opened none.
func (o *opening) session(id string) *mcp.ServerSession {
	if o.server == nil || id == "" {
		return nil
	}
	for s := range o.server.Sessions() {
		if s.ID() == id {
			return s
		}
	}
	return nil
}

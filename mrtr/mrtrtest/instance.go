package mrtrtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/stack"
)

// An Instance is one server of a [Deployment], as one process would run it.
type Instance struct {
	world  *World
	server *mcp.Server

	mu       sync.Mutex
	sessions map[*mcp.ServerSession]mcp.Connection
	death    error
}

// Connect opens a connection, in memory, and returns the client's end of it. user is the
// UserID of the client's token, or empty for a client without one.
func (i *Instance) Connect(ctx context.Context, user string) (mcp.Transport, error) {
	serverSide, clientSide := mcp.NewInMemoryTransports()
	link := &link{transport: serverSide}
	// A session lasts until its client hangs up, however long that takes.
	open := context.WithoutCancel(ctx)
	if user != "" {
		link.token = &auth.TokenInfo{UserID: user}
		open = withToken(open, link.token)
	}
	session, err := i.server.Connect(open, link, nil)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	i.sessions[session] = link.conn
	i.mu.Unlock()
	return clientSide, nil
}

// cut hangs up on every client, as a process does that dies.
func (i *Instance) cut() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, conn := range i.sessions {
		_ = conn.Close()
	}
}

// patience is how long an instance may take to end once its clients have hung up.
const patience = 10 * time.Second

// Stop hangs up on the clients of the instance, waits until its sessions have ended, and
// calls the functions that its world was given by [World.Cleanup]. The error names a
// handler that did not end within 10 s.
func (i *Instance) Stop() error {
	i.cut()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.mu.Lock()
		sessions := slices.Collect(maps.Keys(i.sessions))
		i.mu.Unlock()
		for _, session := range sessions {
			_ = session.Wait() // the error is that of the connection, which was cut
		}
	}()
	var hangs error
	select {
	case <-ended:
	case <-time.After(patience):
		hangs = fmt.Errorf("a handler still runs %s after its client has hung up: it does not heed its context", patience)
	}
	i.world.stop()
	return hangs
}

// die ends the instance as a process that dies ends.
func (i *Instance) die(why error) {
	i.world.mu.Lock()
	i.world.dead = true
	i.world.mu.Unlock()
	i.mu.Lock()
	if i.death == nil {
		i.death = why
	}
	i.mu.Unlock()
	i.cut()
}

// Died says why the process would have died in production: a handler panicked, or
// [Deployment.CrashAtEffect] ended it. It is nil while the instance lives.
func (i *Instance) Died() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.death
}

// panicked is the death of a server whose handler panics. go-sdk recovers none.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string {
	return fmt.Sprintf("the handler panicked, which ends the process of a go-sdk server: %v, in %s", p.value, panicSite(p.stack))
}

// panicSite says where the code panicked that this is the stack of.
func panicSite(trace []byte) string {
	_, below, _ := strings.Cut(string(trace), "\npanic(")
	return stack.Site("panic(" + below)
}

// survive turns a panic of a handler, which would end the process and the test
// with it, into the death of this instance alone. A server can be the instance of
// several, one after the other: each looks after its own sessions.
func (i *Instance) survive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (_ mcp.Result, err error) {
		session, _ := req.GetSession().(*mcp.ServerSession)
		i.mu.Lock()
		_, mine := i.sessions[session]
		i.mu.Unlock()
		if !mine {
			return next(ctx, method, req)
		}
		defer func() {
			if v := recover(); v != nil {
				i.die(&panicked{v, debug.Stack()})
				err = errors.New("the process has ended")
			}
		}()
		return next(ctx, method, req)
	}
}

// link is the server's end of a connection whose client has shown a token.
type link struct {
	transport mcp.Transport
	token     *auth.TokenInfo
	conn      mcp.Connection
}

func (l *link) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := l.transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if l.conn = conn; l.token != nil {
		l.conn = tokenConn{conn, l.token}
	}
	return l.conn, nil
}

// tokenConn gives the token to go-sdk as its HTTP transport does.
type tokenConn struct {
	mcp.Connection
	token *auth.TokenInfo
}

func (c tokenConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if req, ok := m.(*jsonrpc.Request); ok {
		req.Extra = &mcp.RequestExtra{TokenInfo: c.token}
	}
	return m, err
}

// withToken returns a context in which auth.TokenInfoFromContext finds the token.
// go-sdk exports no other way to make one than its middleware.
func withToken(ctx context.Context, token *auth.TokenInfo) context.Context {
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) { return token, nil }
	within := ctx
	capture := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { within = r.Context() })
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	request.Header.Set("Authorization", "Bearer "+token.UserID)
	auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(capture).ServeHTTP(httptest.NewRecorder(), request)
	return within
}

package storetest

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// A Proxy stands between a store and its backend, on loopback TCP, and can
// delay what passes: it makes the abilities of a [Subject] for any backend that
// listens on an address.
type Proxy struct {
	listener          net.Listener
	requests, answers gate

	// mu guards the fields below.
	mu     sync.Mutex
	target string
	conns  map[net.Conn]bool // open ones
	cut    bool              // no connection is taken any more
}

// NewProxy forwards to target until the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("storetest.Proxy: %v", err)
	}
	p := &Proxy{listener: listener, target: target, conns: map[net.Conn]bool{}}
	go p.accept()
	t.Cleanup(p.Cut)
	return p
}

// Addr is the address for the store.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// HoldRequests delays the bytes on their way to the backend until release.
func (p *Proxy) HoldRequests() (release func()) { return p.requests.shut() }

// HoldAnswers delays the bytes on their way from the backend until release.
func (p *Proxy) HoldAnswers() (release func()) { return p.answers.shut() }

// Turn closes every connection, and forwards new ones elsewhere: to the server that has taken
// the backend's place.
func (p *Proxy) Turn(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	p.hangUp()
}

// Cut closes every connection, and refuses new ones from now on.
func (p *Proxy) Cut() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	p.hangUp()
}

// hangUp closes every connection. The caller holds p.mu.
func (p *Proxy) hangUp() {
	for conn := range p.conns {
		_ = conn.Close()
		delete(p.conns, conn)
	}
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		far, err := net.Dial("tcp", target)
		if err != nil {
			_ = near.Close()
			continue
		}
		if p.keep(near) && p.keep(far) {
			go p.forward(far, near, &p.requests)
			go p.forward(near, far, &p.answers)
		}
	}
}

// keep notes a connection, so that Cut can close it.
func (p *Proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		_ = conn.Close()
		return false
	}
	p.conns[conn] = true
	return true
}

// forward copies one direction. Bytes read before the sender hung up are
// still delivered: so a write can come late, as it can on a network.
func (p *Proxy) forward(to, from net.Conn, through *gate) {
	defer func() {
		if half, ok := to.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	}()
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		through.pass()
		if n > 0 {
			if _, err := to.Write(chunk[:n]); err != nil {
				_, _ = io.Copy(io.Discard, from)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// gate is open unless somebody shut it.
type gate struct {
	mu   sync.Mutex
	held chan struct{} // nil while open
}

func (g *gate) shut() (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := make(chan struct{})
	g.held = held
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		close(held)
		g.held = nil
	})
}

func (g *gate) pass() {
	g.mu.Lock()
	held := g.held
	g.mu.Unlock()
	if held != nil {
		<-held
	}
}

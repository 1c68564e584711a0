package storetest

import (
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/store"
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

// FailingOver is a store for tests of calls: it fails over, as a database does whose standby is promoted. It
// is in memory, with the scope of a machine.
type FailingOver struct {
	mu     sync.Mutex
	life   int
	now    *store.Memory
	writes []kept
}

type kept struct {
	name  string
	value []byte
}

// NewFailingOver makes an empty one.
func NewFailingOver() *FailingOver { return &FailingOver{now: store.NewMemory(nil)} }

// FailOver begins another incarnation, which has so many of the writes.
func (s *FailingOver) FailOver(first int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.now = store.NewMemory(nil)
	s.writes = s.writes[:first]
	last := map[string][]byte{}
	for _, w := range s.writes {
		last[w.name] = w.value
	}
	for name, value := range last {
		if _, err := s.now.Create(context.Background(), store.Key{Epoch: s.own(), Name: name}, value, time.Hour); err != nil {
			panic(err)
		}
	}
}

// Writes are those of this incarnation, with those that it has from before.
func (s *FailingOver) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writes)
}

func (s *FailingOver) epoch() string { return store.EpochOf("contents", strconv.Itoa(s.life)) }

// own is the epoch of the memory.
func (s *FailingOver) own() string {
	epoch, _ := s.now.Epoch(context.Background())
	return epoch
}

// Scope implements [store.Store].
func (s *FailingOver) Scope() store.Scope { return store.Machine }

// Epoch implements [store.Store].
func (s *FailingOver) Epoch(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch(), nil
}

// Reached implements [store.Marker].
func (s *FailingOver) Reached(epoch string) store.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch != s.epoch() {
		return 0
	}
	return s.now.Reached(s.own())
}

// inside is a key as the memory has it.
func (s *FailingOver) inside(key store.Key) (store.Key, error) {
	if key.Epoch != s.epoch() {
		return key, store.ErrForgotten
	}
	key.Epoch = s.own()
	return key, nil
}

// Create implements [store.Store].
func (s *FailingOver) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(key, value, func(key store.Key) (store.Revision, error) { return s.now.Create(ctx, key, value, ttl) })
}

// Update implements [store.Store].
func (s *FailingOver) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(key, value, func(key store.Key) (store.Revision, error) { return s.now.Update(ctx, key, at, value, ttl) })
}

func (s *FailingOver) write(key store.Key, value []byte, make func(store.Key) (store.Revision, error)) (store.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := s.inside(key)
	if err != nil {
		return 0, err
	}
	at, err := make(key)
	if err == nil {
		s.writes = append(s.writes, kept{key.Name, slices.Clone(value)})
	}
	return at, err
}

// Get implements [store.Store].
func (s *FailingOver) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := s.inside(key)
	if err != nil {
		return nil, 0, err
	}
	return s.now.Get(ctx, key)
}

package testserver

import (
	"os"
	"sync"
	"testing"
)

var (
	mu    sync.Mutex
	atEnd []func()
)

// Lasting returns a t whose Cleanup functions run when all tests are over, for
// a server that they share. The package's TestMain calls [Main].
func Lasting(t testing.TB) testing.TB { return lasting{t} }

// Main runs the tests, and then stops what lasted.
func Main(m *testing.M) {
	code := m.Run()
	mu.Lock()
	defer mu.Unlock()
	for i := len(atEnd) - 1; i >= 0; i-- {
		atEnd[i]()
	}
	os.Exit(code)
}

// Shared is a server that the tests of a package share. The first to need it starts it.
type Shared struct {
	mu   sync.Mutex
	addr string
}

// Addr returns the server's address, after start if it does not run yet.
func (s *Shared) Addr(t testing.TB, start func(testing.TB) (addr string)) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addr == "" {
		s.addr = start(Lasting(t))
	}
	return s.addr
}

type lasting struct{ testing.TB }

func (lasting) Cleanup(f func()) {
	mu.Lock()
	defer mu.Unlock()
	atEnd = append(atEnd, f)
}

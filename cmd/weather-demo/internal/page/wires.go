package page

import (
	"bufio"
	"net"
	"net/http"
	"sync"
)

// wires are the network connections under a stand's sockets.
type wires struct {
	mu   sync.Mutex
	open map[*tappedWriter]net.Conn
	gone bool
}

// cut closes them all. Nothing is said to the peers first, as nothing is when a
// process dies.
func (s *wires) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	for _, conn := range s.open {
		_ = conn.Close()
	}
}

func (s *wires) add(w *tappedWriter, conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		_ = conn.Close()
		return
	}
	if s.open == nil {
		s.open = map[*tappedWriter]net.Conn{}
	}
	s.open[w] = conn
}

func (s *wires) forget(w *tappedWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, w)
}

// tappedWriter notes the connection that a WebSocket takes over.
type tappedWriter struct {
	http.ResponseWriter
	wires *wires
}

// Hijack implements [http.Hijacker].
func (w *tappedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.wires.add(w, conn)
	}
	return conn, rw, err
}

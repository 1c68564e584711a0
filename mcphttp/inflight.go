package mcphttp

import "sync"

// inFlight counts the requests that Shutdown waits for.
type inFlight struct {
	mu      sync.Mutex
	running int
	idle    chan struct{} // made when the drain begins, closed when nothing runs
}

// enter counts one more, or reports false because the handler drains.
func (f *inFlight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle != nil {
		return false
	}
	f.running++
	return true
}

func (f *inFlight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	if f.running == 0 && f.idle != nil {
		close(f.idle)
	}
}

func (f *inFlight) draining() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idle != nil
}

// drain lets nothing more in and returns a channel that closes when all is done.
func (f *inFlight) drain() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle == nil {
		f.idle = make(chan struct{})
		if f.running == 0 {
			close(f.idle)
		}
	}
	return f.idle
}

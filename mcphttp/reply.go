package mcphttp

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// heartbeat is a comment of an event stream, which clients skip.
const heartbeat = ": still here\n\n"

// reply is a response that go-sdk writes. Each write has its time limit, so that a
// client which does not read is dropped, and an event stream on which nothing is
// written carries a heartbeat, so that no proxy takes it for dead.
//
// go-sdk writes from several goroutines, and may write the header long after
// heartbeats began. So it gets a header of its own, which counts if it comes
// first. A response that begins with a heartbeat is an event stream of status 200,
// and an error with another status that comes later is sent as an event.
type reply struct {
	w       http.ResponseWriter
	control *http.ResponseController
	header  http.Header
	timeout time.Duration // of a write
	every   time.Duration // a heartbeat

	mu     sync.Mutex
	sent   bool // the header
	events bool // it is an event stream
	late   bool // the body of an error that came after a heartbeat
	whole  bool // all of it was sent
	done   bool
	beat   *time.Timer
	batch  bool         // of calls
	last   []byte       // the bytes written last, where there is one call
	ids    []jsonrpc.ID // of calls that are known to be answered
}

// newReply makes a reply to a request. It may begin with a heartbeat only where it
// is known to become an event stream.
func (h *Handler) newReply(w http.ResponseWriter, begins bool) *reply {
	p := &reply{w: w, control: http.NewResponseController(w), header: maps.Clone(w.Header()), timeout: h.writeTimeout, every: h.heartbeat}
	p.mu.Lock() // the timer may be quick
	defer p.mu.Unlock()
	p.beat = time.AfterFunc(p.every, p.tick)
	p.events = begins
	return p
}

func (p *reply) Header() http.Header { return p.header }

// WriteHeader implements [http.ResponseWriter].
func (p *reply) WriteHeader(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeHeader(status)
}

func (p *reply) writeHeader(status int) {
	if p.done {
		return
	}
	if p.sent {
		p.late = status != http.StatusOK
		return
	}
	p.sent = true
	p.events = status == http.StatusOK && strings.HasPrefix(p.header.Get("Content-Type"), "text/event-stream")
	maps.Copy(p.w.Header(), p.header)
	p.w.WriteHeader(status)
}

// Write implements [io.Writer].
func (p *reply) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return 0, http.ErrHandlerTimeout
	}
	if !p.sent {
		p.writeHeader(http.StatusOK)
	}
	if p.late {
		if json.Valid(data) {
			_, err := p.write(asEvent(data))
			return len(data), err
		}
		return len(data), nil // the text of an error that is no message
	}
	return p.write(data)
}

func (p *reply) write(data []byte) (int, error) {
	p.limit()
	n, err := p.w.Write(data)
	p.beat.Reset(p.every)
	if err == nil {
		p.note(data)
	}
	return n, err
}

// complete writes the answer of the only call, after which nothing follows. Where
// nothing was written before, its length is known, which spares the end of a body of
// chunks a packet of its own.
func (p *reply) complete(id jsonrpc.ID, status int, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	p.ids = append(p.ids, id)
	p.whole = !p.sent
	if p.whole {
		p.header.Set("Content-Length", strconv.Itoa(len(data)))
	}
	p.writeHeader(status)
	if p.late {
		data = asEvent(data)
	}
	p.limit()
	_, _ = p.w.Write(data) // who is gone hears nothing
	_ = p.control.Flush()
	p.done = p.whole
}

// limit gives the next write its time. A writer without deadlines has its own limits.
func (p *reply) limit() { _ = p.control.SetWriteDeadline(time.Now().Add(p.timeout)) }

// FlushError implements what [http.ResponseController] looks for.
func (p *reply) FlushError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return http.ErrHandlerTimeout
	}
	if !p.sent {
		p.writeHeader(http.StatusOK)
	}
	p.limit()
	return p.control.Flush()
}

// Flush implements [http.Flusher].
func (p *reply) Flush() { _ = p.FlushError() }

func (p *reply) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done || !p.events {
		return
	}
	if !p.sent {
		p.sent = true
		p.w.Header().Set("Content-Type", "text/event-stream")
		p.w.Header().Set("Cache-Control", "no-cache, no-transform")
		p.w.WriteHeader(http.StatusOK)
	}
	p.limit()
	if _, err := io.WriteString(p.w, heartbeat); err == nil {
		_ = p.control.Flush() // a client that is gone ends the request's context
	}
	p.beat.Reset(p.every)
}

// end sends the rest, and gives the connection back without a time limit. Nothing
// is written after it.
func (p *reply) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	p.beat.Stop()
	p.last, p.ids = nil, nil
	switch {
	case p.whole:
	case p.sent:
		p.limit()
		_ = p.control.Flush()
	default:
		maps.Copy(p.w.Header(), p.header)
	}
	_ = p.control.SetWriteDeadline(time.Time{})
}

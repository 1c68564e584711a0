package mcphttp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/message"
	"github.com/mrtr-go/sdk/transport/mcphttp/internal/lean"
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

	begins bool // it may begin with a heartbeat
	batch  bool // of calls; set before the first write
	// status, if set, is that of a refusal, which whoever passes requests on, or logs in, learns
	// from the status; 0 if there is none. It adds to the header.
	status func(http.Header) int

	// All guarded by mu.
	mu    sync.Mutex
	phase phase
	beat  *time.Timer
	last  []byte       // the bytes written last, if there is one call
	ids   []jsonrpc.ID // of calls that are known to be answered
}

// phase is how far a reply has come.
type phase int

const (
	waiting   phase = iota // nothing was sent
	plain                  // the header was sent, and the body is no event stream
	streaming              // the header was sent, and the body is one
	failing                // as streaming; the body of an error follows that came too late for its status
	over                   // nothing is written any more
)

// newReply makes a reply to a request. It may begin with a heartbeat only if it
// is known to become an event stream.
func (h *Handler) newReply(w http.ResponseWriter, begins bool) *reply {
	p := &reply{w: w, control: http.NewResponseController(w), header: maps.Clone(w.Header()), timeout: h.limits.write, every: h.heartbeat, begins: begins}
	p.mu.Lock() // the timer may be quick
	defer p.mu.Unlock()
	p.beat = time.AfterFunc(p.every, p.tick)
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
	switch p.phase {
	case plain, over:
		return
	case streaming, failing:
		p.phase = streaming
		if status != http.StatusOK {
			p.phase = failing
		}
		return
	}
	p.phase = plain
	if p.status != nil {
		status = cmp.Or(p.status(p.header), status)
	}
	if status == http.StatusOK && strings.HasPrefix(p.header.Get("Content-Type"), "text/event-stream") {
		p.phase = streaming
	}
	p.copyHeader()
	p.w.WriteHeader(status)
}

// copyHeader keeps what the handler says about the connection: go-sdk wants it kept alive.
func (p *reply) copyHeader() {
	h := p.w.Header()
	connection, ours := h["Connection"]
	maps.Copy(h, p.header)
	if ours {
		h["Connection"] = connection
	}
}

// Write implements [io.Writer].
func (p *reply) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == over {
		return 0, http.ErrHandlerTimeout
	}
	if p.phase == waiting {
		p.writeHeader(http.StatusOK)
	}
	if p.phase == failing {
		if json.Valid(data) {
			_, err := p.write(message.Event(data))
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

// Complete writes the answer of the only call, after which nothing follows. If
// nothing was written before, its length is known, which spares the end of a body of
// chunks a packet of its own.
func (p *reply) Complete(id jsonrpc.ID, status int, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == over {
		return
	}
	p.ids = append(p.ids, id)
	whole := p.phase == waiting
	if whole {
		p.header.Set("Content-Length", strconv.Itoa(len(data)))
	}
	p.writeHeader(status)
	if p.phase == failing {
		data = message.Event(data)
	}
	p.limit()
	_, _ = p.w.Write(data) // who is gone hears nothing
	_ = p.control.Flush()
	if whole {
		p.phase = over
	}
}

// limit gives the next write its time. A writer without deadlines has its own limits.
func (p *reply) limit() { _ = p.control.SetWriteDeadline(time.Now().Add(p.timeout)) }

// FlushError implements what [http.ResponseController] looks for.
func (p *reply) FlushError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == over {
		return http.ErrHandlerTimeout
	}
	if p.phase == waiting {
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
	if p.phase == plain || p.phase == over || p.phase == waiting && !p.begins {
		return
	}
	if p.phase == waiting {
		p.phase = streaming
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
	p.beat.Stop()
	p.last, p.ids = nil, nil
	switch p.phase {
	case waiting:
		p.copyHeader()
	case plain, streaming, failing:
		p.limit()
		_ = p.control.Flush()
	}
	p.phase = over
	_ = p.control.SetWriteDeadline(time.Time{})
}

// answerRest answers the calls of a body that a shutdown ended and go-sdk left without an
// answer: with the outcome of the handler if there is one, and otherwise by what is known. A
// subscription is complete.
func (p *reply) answerRest(raw []byte, posted *post, modern bool) {
	messages, err := split(raw)
	if err != nil {
		return
	}
	posted.mu.Lock()
	began, outcome := posted.began, posted.outcome
	posted.mu.Unlock()
	for _, text := range messages {
		msg, err := jsonrpc.DecodeMessage(text)
		if err != nil {
			return
		}
		call, ok := msg.(*jsonrpc.Request)
		if !ok || !call.IsCall() || p.answered(call.ID) {
			continue
		}
		listens := call.Method == inflight.Listen
		var body []byte
		switch {
		case !listens && !began:
			body, err = jsonrpc.EncodeMessage(inflight.NotBegun(call.ID))
		case !listens && outcome.known && len(messages) == 1:
			body, err = lean.Answer(call.ID, call.Method, outcome.result, outcome.err, modern)
		default:
			body, err = jsonrpc.EncodeMessage(inflight.CutOff(call.ID, listens))
		}
		if err != nil {
			return
		}
		_ = p.event(body)
	}
}

// event writes an event of our own. Who is gone hears nothing, which is an error.
func (p *reply) event(body []byte) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == waiting {
		p.header.Set("Content-Type", "text/event-stream")
		p.header.Set("Cache-Control", "no-cache, no-transform")
		p.writeHeader(http.StatusOK)
	}
	if p.phase != streaming && p.phase != failing {
		return http.ErrHandlerTimeout
	}
	if _, err = p.write(message.Event(body)); err == nil {
		err = p.control.Flush()
	}
	return err
}

// stream leads middleware to the client of a subscription.
type stream struct {
	*reply
	raw []byte // the subscription
}

func (s *stream) Tasks(any) []string { return inflight.TasksOf(message.Member(s.raw, "params")) }

func (s *stream) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	body, err := jsonrpc.EncodeMessage(&jsonrpc.Request{Method: method, Params: params})
	if err != nil {
		return err
	}
	return s.event(body)
}

// note keeps what answerRest asks for. A body with one call ends with its answer,
// so the last event is all there is to know.
func (p *reply) note(event []byte) {
	if !p.batch {
		p.last = event
		return
	}
	if id, ok := answers(event); ok {
		p.ids = append(p.ids, id)
	}
}

func (p *reply) answered(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := answers(p.last); ok && last == id {
		return true
	}
	for _, other := range p.ids {
		if other == id {
			return true
		}
	}
	return false
}

// answers returns the id of the call that an event answers, or a body that is a
// message.
func answers(event []byte) (jsonrpc.ID, bool) {
	if _, data, ok := bytes.Cut(event, []byte("data: ")); ok && !bytes.HasPrefix(event, []byte("{")) {
		event = data
	}
	msg, err := jsonrpc.DecodeMessage(event)
	if err != nil {
		return jsonrpc.ID{}, false
	}
	answer, ok := msg.(*jsonrpc.Response)
	if !ok {
		return jsonrpc.ID{}, false
	}
	return answer.ID, true
}

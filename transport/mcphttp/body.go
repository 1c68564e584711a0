package mcphttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/internal/unread"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// maxBatch is how many messages a POST may hold. Only revision 2025-03-26 knows
// batches at all.
const maxBatch = 100

var errLongBatch = fmt.Errorf("batch exceeds %d messages", maxBatch)

// contents are the facts about a body that routing needs.
type contents struct {
	modern     bool               // a call whose _meta names a modern revision
	calls      []jsonrpc.ID       // of requests that await a response
	opens      bool               // holds an initialize
	subscribes []*jsonrpc.Request // to resources, or ends that
	round      bool               // one call that may ask
	cancels    map[int]jsonrpc.ID // what the messages at these places cancel
	kept       int64              // size of the messages that go-sdk keeps until the session ends
}

// peek reads as much of messages as routing needs, and reads it as go-sdk will: a
// call that only one of the two sees would outlive the client that hung up on
// it, and a drain would not wait for it. A message that it cannot read is an error.
func peek(messages []json.RawMessage) (contents, error) {
	var found contents
	for i, raw := range messages {
		// Not encoding/json, which takes "Method" for "method".
		decoded, err := message.Decode(raw)
		if err != nil {
			return contents{}, err
		}
		call, ok := decoded.(*jsonrpc.Request)
		if !ok {
			continue
		}
		switch call.Method {
		case "initialize":
			found.opens = true
			found.kept += int64(len(raw))
		case "resources/subscribe", "resources/unsubscribe", inflight.Listen:
			found.subscribes = append(found.subscribes, call)
		case "notifications/initialized":
			found.kept += int64(len(raw))
		}
		if id, ok := message.Cancels(call); ok && !call.IsCall() {
			if found.cancels == nil {
				found.cancels = map[int]jsonrpc.ID{}
			}
			found.cancels[i] = id
		}
		if !call.IsCall() {
			continue
		}
		found.calls = append(found.calls, call.ID)
		found.round = len(messages) == 1 && slices.Contains(inflight.RoundMethods, call.Method)
		if era.MetaVersion(paramsMeta(call.Params)) >= era.FirstModern {
			found.modern = true
		}
	}
	return found, nil
}

var errTrailing = errors.New("text follows the message")

// split parts a batch into its messages, and stops if there are too many.
func split(body []byte) ([]json.RawMessage, error) {
	w := jsontext.Walk(body, jsontext.MaxDepth)
	if single := w.Kind() == '{'; w.Value() != nil && !w.End() {
		return nil, errTrailing // which go-sdk ignores
	} else if single && w.End() {
		return []json.RawMessage{bytes.TrimSpace(body)}, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if !isBatch(body) {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		return []json.RawMessage{raw}, nil
	}
	var messages []json.RawMessage
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		if len(messages) == maxBatch {
			return nil, errLongBatch
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		messages = append(messages, raw)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, errors.New("empty batch")
	}
	return messages, nil
}

func isBatch(body []byte) bool { return jsontext.Walk(body, jsontext.MaxDepth).Kind() == '[' }

// paramsMeta reads the _meta of params by its exact name.
func paramsMeta(params json.RawMessage) map[string]any {
	var meta map[string]any
	w := jsontext.Walk(params, jsontext.MaxDepth)
	for name := range w.Members {
		if string(name) == "_meta" && json.Unmarshal(w.Value(), &meta) != nil {
			return nil
		}
	}
	return meta
}

// maxInitialized bounds a notification that go-sdk keeps and no client fills.
const maxInitialized = 4 << 10

// tooLarge names the part of the contents that is larger than a session may keep.
func (c contents) tooLarge(maxInitialize int64) error {
	if !c.opens {
		maxInitialize = maxInitialized
	}
	if c.kept > maxInitialize {
		return fmt.Errorf("the messages that open a session exceed %d bytes", maxInitialize)
	}
	return nil
}

// readBody reads a body and puts it back for the next reader. If it
// returns false it has answered the request.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, ok := h.bodies.read(w, r, h.receiving)
	if ok {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return body, ok
}

// bodies reads those of requests.
type bodies struct {
	most    int64             // bytes of one
	largest int               // buffer for it
	within  time.Duration     // for a client to send it
	coming  *inflight.Counter // bytes of the buffers that are not full yet
}

// The largest bodies that one client may send at once, and all of them.
const (
	mostOfOne = 16
	mostOfAll = 64
)

func newBodies(most int64, within time.Duration) *bodies {
	largest := int(min(most, math.MaxInt/mostOfAll-bytes.MinRead)) + bytes.MinRead
	return &bodies{most, largest, within, inflight.New(mostOfAll*largest, mostOfOne*largest)}
}

// usualBody bounds the memory that a body gets before it has come. A buffer is counted from
// twice that, so that usual requests pay nothing for it.
const usualBody = 4 << 10

// receive reads a body to its end. What a client takes for those that it has not sent yet is
// counted while it grows: it may send many of them and end none.
func (b *bodies) receive(w http.ResponseWriter, r *http.Request) (body []byte, err error) {
	who, counted := inflight.Who{Principal: inflight.Principal(r), Connection: r.RemoteAddr}, 0
	from := http.MaxBytesReader(w, r.Body, b.most)
	body = make([]byte, 0, min(max(r.ContentLength, 0), usualBody)+bytes.MinRead)
	for err == nil {
		if len(body) == cap(body) {
			size := min(2*cap(body), b.largest)
			if size > 2*usualBody {
				if err = b.coming.Enter(who, size-counted); err != nil {
					break
				}
				counted = size
			}
			body = append(make([]byte, 0, size), body...)
		}
		var n int
		n, err = from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
	}
	if counted > 0 {
		b.coming.Leave(who, counted)
	}
	if err == io.EOF {
		err = nil
	}
	return body, err
}

// read reads a body that [unread.Bound] bounds, as long as receiving is not over.
func (b *bodies) read(w http.ResponseWriter, r *http.Request, receiving context.Context) ([]byte, bool) {
	if r.ContentLength == 0 { // its client is listened to already, and a deadline would seem to be its end
		return nil, true
	}
	control := http.NewResponseController(w)
	cut := func() bool { return false }
	if receiving.Err() == nil {
		cut = context.AfterFunc(receiving, func() { _ = control.SetReadDeadline(time.Now()) })
	} else { // not in AfterFunc's goroutine, whose deadline could outlast this request
		_ = control.SetReadDeadline(time.Now())
	}
	body, err := b.receive(w, r)
	if !cut() && err != nil {
		refuseWork(w)
		return nil, false
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refusedBy(w, bySize)
		http.Error(w, fmt.Sprintf("request body exceeds %d bytes", b.most), http.StatusRequestEntityTooLarge)
		return nil, false
	case errors.Is(err, os.ErrDeadlineExceeded):
		refusedBy(w, byTime)
		http.Error(w, fmt.Sprintf("the body took longer than %v", b.within), http.StatusRequestTimeout)
		return nil, false
	case errors.Is(err, inflight.ErrShare), errors.Is(err, inflight.ErrFull):
		refuseCalls(w, nil, err)
		return nil, false
	case err != nil:
		http.Error(w, "failed to read body", http.StatusBadRequest)
		return nil, false
	}
	_ = control.SetReadDeadline(time.Time{}) // or the client would seem gone when it passes
	return body, true
}

// readContents returns the contents of messages. If it returns false it has
// answered the request.
func readContents(w http.ResponseWriter, messages []json.RawMessage) (contents, bool) {
	found, err := peek(messages)
	if err != nil {
		refuseMalformed(w, err)
		return contents{}, false
	}
	return found, true
}

func refuseWork(w http.ResponseWriter) {
	refusedBy(w, byShutdown)
	inflight.Refuse(w.Header())
	http.Error(w, "shutting down", http.StatusServiceUnavailable)
}

func refuseMalformed(w http.ResponseWriter, err error) {
	if errors.Is(err, errLongBatch) {
		refusedBy(w, bySize)
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	refusedBy(w, byForm)
	http.Error(w, fmt.Sprintf("malformed payload: %v", err), http.StatusBadRequest)
}

// refuseCalls refuses a body whose calls would be too many: with 503 if the
// server has too many in flight, with 429 if the client has. A single call is
// answered by its id, so that a client fails that call and nothing else.
func refuseCalls(w http.ResponseWriter, raw []byte, err error) {
	status, reason := http.StatusTooManyRequests, byShare
	if errors.Is(err, inflight.ErrFull) {
		status, reason = http.StatusServiceUnavailable, byLoad
	}
	refusedBy(w, reason)
	w.Header().Set("Retry-After", "1")
	if message, decodeErr := jsonrpc.DecodeMessage(raw); decodeErr == nil {
		if call, ok := message.(*jsonrpc.Request); ok && call.IsCall() {
			refusal := &jsonrpc.Response{ID: call.ID, Error: &jsonrpc.Error{Code: inflight.CodeBusy, Message: err.Error()}}
			if body, encodeErr := jsonrpc.EncodeMessage(refusal); encodeErr == nil {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = w.Write(body) // who does not read it hears nothing
				return
			}
		}
	}
	http.Error(w, err.Error(), status)
}

// The reasons of [HandlerOptions.Refused].
const (
	byHost      = "host"      // the Host header names another server
	byOrigin    = "origin"    // the request is that of a foreign page
	bySize      = "size"      // the body, the batch or the initialize message is too large
	byTime      = "slow"      // the body took too long
	byForm      = "malformed" // it is no JSON-RPC
	byAmbiguity = "ambiguous" // two readers may understand it differently, or it is nested too deep
	byVersion   = "version"   // the protocol version is not served
	byLoad      = "overload"  // too much is in flight, or too many sessions are open
	byShare     = "share"     // too much of it is the client's
	byShutdown  = "shutdown"
)

// A doorkeeper is the writer of a request by which its refusal is told.
type doorkeeper struct {
	http.ResponseWriter
	tell    func(reason string)
	refused bool // by go-sdk, with 400
}

// Unwrap leads [http.ResponseController] to the writer that flushes.
func (d *doorkeeper) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *doorkeeper) WriteHeader(status int) {
	d.refused = status == http.StatusBadRequest
	d.ResponseWriter.WriteHeader(status)
}

// Write finds the refusals that are go-sdk's own.
func (d *doorkeeper) Write(p []byte) (int, error) {
	if d.refused {
		switch {
		case bytes.Contains(p, []byte(`"code":-32022`)), bytes.Contains(p, []byte("Unsupported protocol version")):
			d.note(byVersion)
		case bytes.Contains(p, []byte(`"code":-32020`)): // headers and body disagree
			d.note(byAmbiguity)
		}
	}
	return d.ResponseWriter.Write(p)
}

func (d *doorkeeper) note(reason string) {
	d.refused = false
	if d.tell != nil {
		d.tell(reason)
		d.tell = nil // one request, one refusal
	}
}

// refusedBy tells why a request is refused, if anybody wants to know.
func refusedBy(w http.ResponseWriter, reason string) {
	for {
		switch outer := w.(type) {
		case *doorkeeper:
			outer.note(reason)
			return
		case *reply:
			w = outer.w
		case interface{ Unwrap() http.ResponseWriter }:
			w = outer.Unwrap()
		default:
			return
		}
	}
}

// exposed are the response headers that the script of a page may read.
const exposed = "Mcp-Session-Id, Mcp-Protocol-Version, Retry-After, WWW-Authenticate"

// WithCORS lets pages of [HandlerOptions.AllowedOrigins] use next: it answers their
// preflight requests and adds the headers of the CORS protocol to the responses.
// The handler does so for itself. A server that authenticates in front of it needs
// WithCORS in front of that, because a preflight carries no token, and a page
// cannot read a refusal without these headers:
//
//	http.Handle("/mcp", h.WithCORS(auth.RequireBearerToken(verify, nil)(h)))
//
// Cookies are not allowed across origins: a page sends its token in a header.
func (h *Handler) WithCORS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer unread.Bound(w, r, h.limits.body)
		if h.guard.Check(r) == nil && h.preflight(w, r) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// preflight adds the headers to the response to a page of a listed origin, and
// reports whether that was all that the request asked for. The request has passed
// the guard.
func (h *Handler) preflight(w http.ResponseWriter, r *http.Request) bool {
	if !h.guard.Lists() {
		return false
	}
	header := w.Header()
	header.Set("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !h.guard.Listed(origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", exposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	// A tool may name headers of its own (Mcp-Param-...), and the origin is trusted.
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		header.Set("Access-Control-Allow-Headers", asked)
	}
	header.Set("Access-Control-Max-Age", "7200")
	w.WriteHeader(http.StatusNoContent)
	return true
}

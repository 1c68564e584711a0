// Package inflight bounds the calls that run at once, in total and for each principal, and
// knows when the last of them has ended.
package inflight

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// The errors of [Counter.Enter]. They are fit for a client to read.
var (
	ErrFull  = errors.New("the server has too much in flight")
	ErrShare = errors.New("too much in flight for one client")
)

// CodeBusy is the JSON-RPC code of a call that was refused and may be made again.
// It lies outside the range that JSON-RPC and the Model Context Protocol reserve.
const CodeBusy = -31000

// Busy answers a call that an error of [Counter.Enter] keeps out.
func Busy(err error) *jsonrpc.Error { return &jsonrpc.Error{Code: CodeBusy, Message: err.Error()} }

// Counter counts. A nil one lets everybody in.
//
// The callers that nobody knows are a crowd of any size. A quarter of the places is neither
// for them all nor for any one principal, so that the others always find room.
type Counter struct {
	most, mostOfOne, mostOfCrowd int

	// All guarded by mu.
	mu    sync.Mutex
	total int
	crowd int            // of callers without a principal
	of    map[string]int // by [Who.share], none of them zero
}

// Who is from whom something comes.
type Who struct {
	Principal  string // empty if nobody knows
	Connection string // tells the callers without a principal apart; may be empty
}

// share is under which name a caller has a share of its own; empty if it has none.
func (w Who) share() string {
	switch {
	case w.Principal != "":
		return "user " + w.Principal
	case w.Connection != "":
		return "connection " + w.Connection
	}
	return ""
}

// CrowdOf is how many of so many places the callers have whom nobody knows, and any one
// principal at most.
func CrowdOf(most int) int { return most - most/4 }

// Principal is who a request is from, by its token; empty if nobody knows.
func Principal(r *http.Request) string {
	if token := auth.TokenInfoFromContext(r.Context()); token != nil {
		return token.UserID
	}
	return ""
}

// New makes a counter that lets in so many at once, and so many of one principal.
func New(most, mostOfOne int) *Counter {
	crowd := CrowdOf(most)
	return &Counter{most: most, mostOfOne: min(mostOfOne, crowd), mostOfCrowd: crowd, of: map[string]int{}}
}

// Enter counts n more of a caller, or none of them.
func (c *Counter) Enter(who Who, n int) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	share := who.share()
	switch {
	case c.total+n > c.most:
		return ErrFull
	case share != "" && c.of[share]+n > c.mostOfOne:
		return ErrShare
	case who.Principal == "" && c.crowd+n > c.mostOfCrowd:
		return ErrFull
	}
	c.add(who, n)
	return nil
}

// Leave takes back what Enter counted.
func (c *Counter) Leave(who Who, n int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(who, -n)
}

func (c *Counter) add(who Who, n int) {
	c.total += n
	if who.Principal == "" {
		c.crowd += n
	}
	if share := who.share(); share != "" {
		if c.of[share] += n; c.of[share] <= 0 {
			delete(c.of, share)
		}
	}
}

// Listen is the method that opens a subscription, a call that lasts as long as its client
// wants.
const Listen = "subscriptions/listen"

// How many resources a legacy session may be subscribed to, and how many bytes their
// addresses, or the params of one subscriptions/listen, may have: a server keeps them as
// long as the session, or the stream, is open.
const (
	maxSubscriptions = 1000
	maxSubscribed    = 64 << 10
)

// Subscriptions are the addresses of resources that one session is subscribed to.
type Subscriptions struct {
	// All guarded by mu.
	mu        sync.Mutex
	addresses map[string]struct{}
	bytes     int
}

// Note follows a request of the session, and returns an error when the server would
// have to keep too much.
func (s *Subscriptions) Note(method string, params json.RawMessage) *jsonrpc.Error {
	switch method {
	case Listen:
		return Listening(params)
	case "resources/subscribe", "resources/unsubscribe":
	default:
		return nil
	}
	address, ok := message.Text(params, "uri")
	if !ok {
		return nil // the server refuses it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, subscribed := s.addresses[address]
	switch {
	case subscribed == (method == "resources/subscribe"):
		return nil
	case subscribed:
		delete(s.addresses, address)
		s.bytes -= len(address)
		return nil
	case len(s.addresses) >= maxSubscriptions || s.bytes+len(address) > maxSubscribed:
		return &jsonrpc.Error{Code: CodeBusy, Message: fmt.Sprintf("too many subscriptions of one session: it may have %d, and %d bytes of addresses", maxSubscriptions, maxSubscribed)}
	}
	if s.addresses == nil {
		s.addresses = map[string]struct{}{}
	}
	s.addresses[address] = struct{}{}
	s.bytes += len(address)
	return nil
}

// TasksOf are the tasks that the params of a subscriptions/listen name.
func TasksOf(params json.RawMessage) (ids []string) {
	_ = json.Unmarshal(message.Member(params, "notifications", "taskIds"), &ids) // what is no list of texts names none
	return ids
}

// Listening returns an error when the params of a subscriptions/listen name more than
// a server should keep, or tasks for a modern client that does not declare their extension.
func Listening(params json.RawMessage) *jsonrpc.Error {
	if len(params) > maxSubscribed {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("invalid params: a subscription may have %d bytes", maxSubscribed)}
	}
	named, meta := message.Member(params, "notifications", "taskIds"), message.Member(params, "_meta")
	if named == nil || string(named) == "null" ||
		message.Member(meta, mcp.MetaKeyProtocolVersion) == nil || // legacy revisions know no tasks like these
		message.Member(meta, mcp.MetaKeyClientCapabilities, "extensions", callerror.TasksExtension) != nil {
		return nil
	}
	return callerror.NeedsTasks()
}

package inflight

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

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

// Listening returns an error when the params of a subscriptions/listen name more than
// a server should keep, or tasks for a modern client that does not declare their extension.
// go-sdk drops the tasks when it decodes the params, so that nobody after it can tell.
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

// Package inflight counts the calls that run at once, in total and for each
// principal, and refuses those above a limit.
package inflight

import (
	"errors"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// The errors of [Counter.Enter]. They are fit for a client to read.
var (
	ErrFull  = errors.New("the server has too much in flight")
	ErrShare = errors.New("too much in flight for one client")
)

// CodeBusy is the JSON-RPC code of a call that was refused and may be made again.
// It lies outside the range that JSON-RPC and the Model Context Protocol reserve.
const CodeBusy = -31000

// CodeClosing is the JSON-RPC code of a call that a shutdown refused or cut off.
// WebSocket has the same number for a server that goes.
const CodeClosing = 1001

// Counter counts. Its zero value refuses everything; see [New].
type Counter struct {
	most, mostOfOne int

	mu    sync.Mutex
	total int            // guarded by mu
	of    map[string]int // guarded by mu: by principal, none of them zero
}

// Principal is who a request is from, by its token; empty if nobody knows.
func Principal(r *http.Request) string {
	if token := auth.TokenInfoFromContext(r.Context()); token != nil {
		return token.UserID
	}
	return ""
}

// New makes a counter that lets in so many at once, and so many of one principal.
func New(most, mostOfOne int) *Counter {
	return &Counter{most: most, mostOfOne: mostOfOne, of: map[string]int{}}
}

// Enter counts n more of a principal, or none of them. The empty principal is
// nobody in particular and has no share of its own.
func (c *Counter) Enter(principal string, n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if principal != "" && c.of[principal]+n > c.mostOfOne {
		return ErrShare
	}
	if c.total+n > c.most {
		return ErrFull
	}
	c.total += n
	if principal != "" {
		c.of[principal] += n
	}
	return nil
}

// Leave takes back what Enter counted.
func (c *Counter) Leave(principal string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total -= n
	if principal == "" {
		return
	}
	if c.of[principal] -= n; c.of[principal] <= 0 {
		delete(c.of, principal)
	}
}

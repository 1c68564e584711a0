package mcphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// account is all that can be told of a request with a fate. Its exported fields have to be
// the same on both ways. Times count from the request.
type account struct {
	Received []*received   // by each client
	Handled  []*handled    // by each handler that ran
	Shutdown string        // its error
	ShutDown time.Duration // when it returned
}

// handled is a request as its handler saw it.
type handled struct {
	Method       string
	Began, Ended time.Duration
	Cancelled    time.Duration // -1 if it was not, while it ran
	Cause        string
	Result       string   // which it had at once
	Told         []string // the errors of its notifications

	cause error
	end   func()
}

func (s *stage) begin(ctx context.Context, method string) *handled {
	h := &handled{Method: method, Began: s.now(), Cancelled: -1}
	s.mu.Lock()
	s.account.Handled = append(s.account.Handled, h)
	s.mu.Unlock()
	note := sync.OnceFunc(func() {
		h.cause, h.Cancelled = context.Cause(ctx), s.now()
		h.Cause = fmt.Sprint(ctx.Err(), ": ", h.cause)
	})
	unhook := context.AfterFunc(ctx, note)
	h.end = func() {
		unhook()
		if ctx.Err() != nil { // the handler may have been quicker than the hook
			note()
		}
		h.Ended = s.now()
	}
	return h
}

func (h *handled) saw(result any, err error) {
	text, failure := json.Marshal(result)
	h.Result = fmt.Sprint(string(text), err, failure)
}

func (h *handled) hungUp() bool {
	return errors.Is(h.cause, mcphttp.ErrHungUp) || errors.Is(h.cause, errProxyGone)
}

// allEnds are the ends to which a request can come, as its handlers saw them.
var allEnds = []string{
	"slow", "slow, and the server keeps alive", "drained by a shutdown", "cut off by a shutdown", "cut off before it began",
	"hung up", "hung up before it began", cameTooLate, "hung up with another cause",
	"sent again while the first ran", "sent again after the first",
}

// cameTooLate is the end of a request that neither way serves.
const cameTooLate = "hung up before it came"

// ends are those of one request.
func (a account) ends(f fate) (ends []string) {
	add := func(end string, so bool) {
		if so {
			ends = append(ends, end)
		}
	}
	add(cameTooLate, f.gone && len(a.Handled) == 0)
	if len(a.Handled) == 0 {
		return ends
	}
	first := a.Handled[0]
	early, whole := first.Cancelled == first.Began, first.Cancelled < 0
	cutOff := errors.Is(first.cause, mcphttp.ErrShuttingDown)
	add("slow", whole)
	add("slow, and the server keeps alive", whole && f.keepAlive > 0)
	add("drained by a shutdown", whole && f.shutsDown > 0 && a.Shutdown == "<nil>" && a.ShutDown == first.Ended)
	add("cut off by a shutdown", cutOff && !early)
	add("cut off before it began", cutOff && early)
	add("hung up", first.hungUp() && !early)
	add("hung up before it began", first.hungUp() && early)
	add("hung up with another cause", errors.Is(first.cause, errProxyGone))
	if len(a.Handled) == 2 {
		add("sent again while the first ran", a.Handled[1].Began < first.Ended)
		add("sent again after the first", a.Handled[1].Began > first.Ended)
	}
	return ends
}

// dropUnread drops what go-sdk wrote as the first client hung up, if that is an answer.
func (a account) dropUnread(hungUp time.Duration) {
	first := a.Received[0]
	written := first.Unread[hungUp]
	if !first.lean && (strings.Contains(written, `"result":`) || strings.Contains(written, `"error":`)) {
		delete(first.Unread, hungUp)
	}
}

// The reasons for which the two ways may differ.
const (
	lengthKnown  = "an answer that comes at once has its length"
	answerUnread = "go-sdk may still write an answer as its client hangs up"
)

var allReasons = []string{lengthKnown, answerUnread}

// settle takes from two accounts what differs for a reason, and names the reasons.
func settle(t *testing.T, f fate, stock, lean account) (stockText, leanText string, reasons []string) {
	t.Helper()
	for _, r := range stock.Received {
		require.NotContains(t, r.Sent, "Content-Length")
	}
	for _, r := range lean.Received {
		if length, ok := r.Sent["Content-Length"]; ok {
			require.Equal(t, []string{strconv.Itoa(r.length())}, length)
			delete(r.Sent, "Content-Length")
			reasons = []string{lengthKnown}
		}
	}
	stockText, leanText = stock.text(t), lean.text(t)
	if f.hangsUp > 0 && stockText != leanText {
		before := stockText + leanText
		stock.dropUnread(f.hangsUp)
		lean.dropUnread(f.hangsUp) // its own requests take go-sdk's way too, where they have to
		if stockText, leanText = stock.text(t), lean.text(t); stockText+leanText != before {
			reasons = append(reasons, answerUnread)
		}
	}
	return stockText, leanText, reasons
}

func (a account) text(t *testing.T) string {
	t.Helper()
	text, err := json.MarshalIndent(a, "", " ")
	require.NoError(t, err)
	return string(text)
}

package mcphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// account is all that can be told of a request with a fate. What is exported has to be the
// same on both ways. Times count from the request.
type account struct {
	Received []*received     // by each client
	Handled  []*handled      // by each handler that ran
	Pings    []time.Duration `json:",omitempty"` // by the server's own clock
	Shutdown string          // its error
	ShutDown time.Duration   // when it returned
	lean     bool            // the request, or the one that was sent again
}

// handled is a request as its handler saw it.
type handled struct {
	Method       string
	Began, Ended time.Duration
	Cancelled    time.Duration // -1 if it was not, while it ran
	Cause        string
	Result       string   // which it had at once
	Told         []string // the errors of its notifications

	cause  error
	unhook func() (unhooked bool)
	noted  chan struct{}
}

func (s *stage) begin(ctx context.Context, method string) *handled {
	h := &handled{Method: method, Began: s.now(), Cancelled: -1, noted: make(chan struct{})}
	s.mu.Lock()
	s.account.Handled = append(s.account.Handled, h)
	s.mu.Unlock()
	h.unhook = context.AfterFunc(ctx, func() {
		defer close(h.noted)
		h.cause, h.Cancelled = context.Cause(ctx), s.now()
		h.Cause = fmt.Sprint(ctx.Err(), ": ", h.cause)
	})
	return h
}

func (h *handled) saw(result any, err error) {
	text, failure := json.Marshal(result)
	h.Result = fmt.Sprint(string(text), err, failure)
}

func (h *handled) end(s *stage) {
	if !h.unhook() {
		<-h.noted
	}
	h.Ended = s.now()
}

func (h *handled) hungUp() bool {
	return errors.Is(h.cause, mcphttp.ErrHungUp) || errors.Is(h.cause, errProxyGone)
}

// allEnds are the ends to which a request can come, as its handlers saw them.
var allEnds = []string{
	"slow", "slow, and the server pinged", "drained by a shutdown", "cut off by a shutdown", "cut off before it began",
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
	add("slow, and the server pinged", whole && len(a.Pings) > 0)
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

// over is when a request was over while it was served, 0 if it was not.
func (a account) over(f fate) time.Duration {
	over := f.hangsUp
	if a.Shutdown != "" && a.Shutdown != "<nil>" && (over == 0 || a.ShutDown < over) {
		over = a.ShutDown
	}
	return over
}

// The reasons for which the two ways may differ.
const (
	lengthKnown   = "an answer that comes at once has its length"
	sessionClosed = "go-sdk closes the session of a request that is over, and the lean front when its handler returns"
)

// pingFails finds what a handler was told of a ping of its own, in the text of an account.
var pingFails = regexp.MustCompile(`PingFails\\*":\\*"(connection closed: calling \\*"ping\\*": client is closing|context canceled)\\*"`)

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
	if stockText != leanText && stock.over(f) > 0 {
		stock.dropPings(stock.over(f))
		lean.dropPings(lean.over(f))
		stockText, leanText = pingFails.ReplaceAllString(stock.text(t), ""), pingFails.ReplaceAllString(lean.text(t), "")
		reasons = append(reasons, sessionClosed)
	}
	return stockText, leanText, reasons
}

func (a account) text(t *testing.T) string {
	t.Helper()
	text, err := json.MarshalIndent(a, "", " ")
	require.NoError(t, err)
	return string(text)
}

// dropPings drops those of a request that was over by then, until it had been served.
func (a *account) dropPings(over time.Duration) {
	a.Pings = slices.DeleteFunc(a.Pings, func(at time.Duration) bool { return at > over && at <= a.Received[0].Over })
}

package prove

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
)

// HTTP dials a streamable HTTP endpoint. The token and the headers of the caller, if any, are
// sent with each request. A nil client is one of its own for each connection.
func HTTP(url string, client *http.Client) Dial {
	return func(_ context.Context, who *Caller) (*Endpoint, error) {
		var base http.RoundTripper
		if client != nil {
			base = client.Transport
		}
		if base == nil {
			base = http.DefaultTransport.(*http.Transport).Clone()
		}
		if who != nil {
			base = credentials{base, who}
		}
		return &Endpoint{URL: url, HTTP: &http.Client{Transport: base, CheckRedirect: sameHost}}, nil
	}
}

// sameHost follows no redirect to another server, which has no business with the caller's
// token and headers.
func sameHost(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme || len(via) > 5 {
		return http.ErrUseLastResponse
	}
	return nil
}

type credentials struct {
	base http.RoundTripper
	who  *Caller
}

func (c credentials) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range c.who.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if c.who.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.who.Token)
	}
	return c.base.RoundTrip(r)
}

// Command starts a program for each connection and speaks over its stdin and
// stdout. The command is made by the function, with its environment and stderr.
func Command(command func() *exec.Cmd) Dial {
	return func(context.Context, *Caller) (*Endpoint, error) {
		return &Endpoint{Transport: &mcp.CommandTransport{Command: command(), TerminateDuration: time.Second}}, nil
	}
}

// conn is a connection that the trial must close.
type conn struct {
	client *wire.Client
	close  func() error
	url    string
}

// client is the connection of the first caller, a modern client that can be
// asked everything.
func (t *trial) client() *wire.Client {
	if t.main == nil {
		t.main = t.another(t.subject.Dial)
	}
	return t.main
}

// another is one more such connection.
func (t *trial) another(d Dial) *wire.Client { return t.dial(d, t.subject.First, nil) }

// dial connects, or fails the rule.
func (t *trial) dial(d Dial, who *Caller, opts *wire.Options) *wire.Client {
	c, err := t.tryDial(d, who, opts)
	if err != nil {
		t.fail("no connection: %v", err)
	}
	return c
}

func (t *trial) tryDial(d Dial, who *Caller, opts *wire.Options) (*wire.Client, error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.patience)
	defer cancel()
	c, err := connect(ctx, d, who, opts)
	if err != nil {
		return nil, err
	}
	t.conns = append(t.conns, c)
	if t.url == "" {
		t.url = c.url
	}
	return c.client, nil
}

// connect dials, and reads no more of the server than a client must.
func connect(ctx context.Context, d Dial, who *Caller, opts *wire.Options) (c conn, err error) {
	o := wire.Options{}
	if opts != nil {
		o = *opts
	}
	o.Name, o.Bounded = "prove", true
	e, err := d(ctx, who)
	if err != nil {
		return c, err
	}
	c.url = e.URL
	if c.close = e.Close; c.close == nil {
		c.close = func() error { return nil }
	}
	if e.Transport != nil {
		c.client, err = wire.Dial(ctx, e.Transport, &o)
	} else {
		c.client, err = wire.DialHTTP(ctx, e.URL, e.HTTP, &o)
	}
	if err != nil {
		_ = c.close()
	}
	return c, err
}

// unreachable reports whether nothing listens at the server's address.
func unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func (c conn) hangUp() {
	_ = c.client.Close()
	_ = c.close() // the server may be gone
}

// hangUp closes every connection of the trial.
func (t *trial) hangUp() {
	for _, c := range t.conns {
		c.hangUp()
	}
	t.conns, t.main = nil, nil
}

// leave closes one connection.
func (t *trial) leave(client *wire.Client) {
	if i := slices.IndexFunc(t.conns, func(c conn) bool { return c.client == client }); i >= 0 {
		t.conns[i].hangUp()
		t.conns = slices.Delete(t.conns, i, i+1)
	}
	if t.main == client {
		t.main = nil
	}
}

// revive starts a server again that the trial ended, so that the next rule finds
// one.
func (t *trial) revive() {
	if t.subject.Died == nil || t.subject.Revive == nil || t.subject.Died() == nil {
		return
	}
	if err := t.subject.Revive(t.ctx); err != nil && t.finding.Outcome != Fail {
		t.finding.Outcome, t.finding.Detail = Fail, fmt.Sprintf("the server died and does not start again: %v", err)
	}
}

// send makes one request and waits for its reply. It waits for nothing longer
// than the patience: not for a server that does not read either, whose
// silence blocks the sending itself.
//
// A server that is too busy is asked again.
func (t *trial) send(c *wire.Client, r wire.Request) exchange {
	s := t.sendWithin(c, r, t.patience)
	for n := range mostReaches / 2 {
		if !s.failsWith(http.StatusTooManyRequests) {
			break
		}
		t.wait(busyFor << n)
		s = t.sendWithin(c, r, t.patience)
	}
	return s
}

func (t *trial) sendWithin(c *wire.Client, r wire.Request, patience time.Duration) exchange {
	s := exchange{request: r}
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	s.reply, s.err = t.reply(ctx, c, r)
	return s
}

// exchange makes one request, and fails the rule if it gets no answer.
func (t *trial) exchange(c *wire.Client, r wire.Request) exchange {
	s := t.send(c, r)
	t.answered(s)
	return s
}

func (t *trial) answered(s exchange) {
	if s.reply != nil {
		return
	}
	if t.subject.Died != nil {
		if why := t.subject.Died(); why != nil {
			t.failAt(s, "the server died: %v", why)
		}
	}
	t.failAt(s, "%s", s.outline())
}

// begin sends a request, and gives up if the server does not read.
func (t *trial) begin(ctx context.Context, c *wire.Client, r wire.Request) (*wire.Pending, error) {
	if r.Method == "" {
		t.calls.Add(1)
		t.busy.Store(true)
	}
	type started struct {
		pending *wire.Pending
		err     error
	}
	sent := make(chan started, 1)
	go func() {
		p, err := c.Start(ctx, r)
		sent <- started{p, err}
	}()
	select {
	case s := <-sent:
		return s.pending, s.err
	case <-ctx.Done():
		return nil, fmt.Errorf("the server does not read: %w", ctx.Err())
	}
}

// start sends a request whose answer is of no interest, and says when there is one.
func (t *trial) start(ctx context.Context, c *wire.Client, r wire.Request) (answered <-chan struct{}, err error) {
	pending, err := t.begin(ctx, c, r)
	if err != nil {
		return nil, err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = pending.Response(ctx)
	}()
	return over, nil
}

func (t *trial) reply(ctx context.Context, c *wire.Client, r wire.Request) (*wire.Reply, error) {
	pending, err := t.begin(ctx, c, r)
	if err != nil {
		return nil, err
	}
	res, err := pending.Response(ctx)
	if status := (*wire.StatusError)(nil); errors.As(err, &status) && status.Code/100 == 4 {
		// The transport allows it, with or without a JSON-RPC error as its body.
		return &wire.Reply{Error: &jsonrpc.Error{Code: int64(status.Code), Message: status.Error()}}, nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.abandoned.Add(1)
	}
	if err != nil {
		return nil, err
	}
	t.closes(pending)
	return readReply(res)
}

// surplus is how many answers came that nothing waited for. A late one is none of them.
func (t *trial) surplus(c *wire.Client) int { return max(0, c.Surplus()-int(t.abandoned.Load())) }

// closes waits a moment for the end of the response's stream, on which a second
// answer would come. It waits no more once a stream stayed open.
func (t *trial) closes(pending *wire.Pending) {
	if pending.Stream() == nil || t.openStream.Load() {
		return
	}
	timer := time.NewTimer(min(t.patience, time.Second))
	defer timer.Stop()
	select {
	case <-pending.Stream():
	case <-timer.C:
		t.openStream.Store(true)
	}
}

func readReply(res *jsonrpc.Response) (*wire.Reply, error) {
	reply, err := wire.ReadReply(res)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return reply, nil
}

var errUnreadable = errors.New("the result does not read")

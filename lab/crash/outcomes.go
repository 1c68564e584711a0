//go:build unix

package crash

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
)

// What the server of a round does when it has paid and the effect has not ended.
const (
	serverStays  = "stays"
	serverDies   = "dies"
	serverWakes  = "stands still, and wakes"
	serverDrains = "drains"
)

// What a client does that does not hang up at one of the places.
const (
	clientStays   = "stays"
	clientCancels = "cancels"
	againAtOnce   = "sends again at once"
	againThere    = "sends again elsewhere"
)

var (
	outcomeServers = []string{serverStays, serverDies, serverWakes, serverDrains}
	outcomeClients = []string{fleet.BeforeTheEffect, fleet.InTheEffect, fleet.AfterTheEffect, clientStays, clientCancels, againAtOnce, againThere}
)

const (
	// outcomeCells is the number of combinations.
	outcomeCells = 700
	// outcomeLease outlasts the writes of all calls of a process that wait for the disk.
	outcomeLease = 8 * time.Second
	// outcomePatience bounds the whole table.
	outcomePatience = 5 * time.Minute
)

// outcomes plays every combination of a style, an end of the effect, a client and a
// server, and returns the lines of the table: how often was paid, and the last answer. One
// process has all the calls of a kind of server, so that one signal hits them all when each
// has paid, and another one answers what they send again.
func (b *Backend) outcomes(t *testing.T) []string {
	addresses := b.Addresses(t)
	ctx, cancel := context.WithTimeout(t.Context(), outcomePatience)
	defer cancel()
	rings := fleet.NewBell()
	defer rings.Close()
	columns := make([]*column, len(outcomeServers))
	for i, server := range outcomeServers {
		columns[i] = &column{server: server, bell: rings, job: fleet.Job{
			Backend: b.Name, Address: addresses(), Ledger: fleet.NewLedger(t), Key: fleet.NewKey(), Lease: outcomeLease,
		}}
	}
	require.NoError(t, storm.Parallel(len(columns), len(columns), func(i int) {
		fault.During("the server "+columns[i].server, func() { columns[i].play(ctx) })
	}))
	lines := []string{"| the effect | the server " + strings.Join(outcomeServers, " | ") + " |"}
	cells := 0
	for _, end := range slices.Sorted(maps.Keys(fleet.Ends)) {
		line := "| " + end + " |"
		for _, c := range columns {
			seen := map[string]bool{}
			for _, d := range c.deals {
				if d.end == end {
					cells++
					seen[d.said] = true
				}
			}
			line += " " + strings.Join(slices.Sorted(maps.Keys(seen)), ", ") + " |"
		}
		lines = append(lines, line)
	}
	require.Equal(t, outcomeCells, cells)
	return lines
}

// column is all calls to one kind of server.
type column struct {
	server     string
	job        fleet.Job
	bell       *fleet.Bell
	one, other *site
	deals      []*deal
}

// site is a process that is also reached over HTTP.
type site struct {
	*fleet.Server
	url  string // at which it rings
	http *wire.Client
}

// deal is one call.
type deal struct {
	*column
	style, end, client string
	order              string
	request            wire.Request
	replies            chan reply // to the requests that are not awaited at once
	sent               int        // of them
	hangUp             func()
	paid               *fleet.Place
	said               string
}

type reply struct {
	fleet.Answer
	err error
}

func (c *column) start(ctx context.Context, name string) *site {
	of := c.job
	path := "/" + rand.Text() + "/" + name
	of.Bell = c.bell.URL + path
	s := &site{Server: fleet.StartServer(ctx, of), url: path}
	err := fault.Caught(func() {
		address := c.bell.At(path, "", fleet.Listening).Await(ctx)
		s.http = fault.Must(wire.DialHTTP(ctx, address, nil, &wire.Options{Unrecorded: true}))
	})
	if err != nil {
		s.Server.End()
		fault.Check(err)
	}
	return s
}

func (s *site) End() {
	_ = s.http.Close()
	s.Server.End()
}

// play brings all calls to their effects, lets the server have its fate, and then sends
// each call's last request until it is answered.
func (c *column) play(ctx context.Context) {
	c.one = c.start(ctx, "one")
	defer c.one.End()
	c.other = c.start(ctx, "other")
	defer c.other.End()
	for style := range fleet.Styles() {
		for end := range fleet.Ends {
			for _, client := range outcomeClients {
				c.deals = append(c.deals, &deal{
					column: c, style: style, end: end, client: client, order: rand.Text() + "/" + end, replies: make(chan reply, 2),
				})
			}
		}
	}
	c.each(atOnce, func(d *deal) { d.begin(ctx) })
	goOn := c.befall(ctx)
	c.each(len(c.deals), func(d *deal) { d.settle(ctx) })
	goOn()
	c.each(len(c.deals), func(d *deal) {
		d.collect(ctx)
		d.settle(ctx)
	})
}

// each runs a function for all calls, so many at once.
func (c *column) each(most int, run func(*deal)) {
	fault.Check(storm.Parallel(len(c.deals), most, func(i int) {
		d := c.deals[i]
		fault.During(fmt.Sprintf("%s, the effect ends in %s, the client %s", d.style, d.end, d.client), func() { run(d) })
	}))
}

// befall lets the server have its fate, now that all calls have paid. It returns the
// function that lets a server go on which stands still.
func (c *column) befall(ctx context.Context) (goOn func()) {
	open := func() {
		for _, d := range c.deals {
			d.paid.Open()
		}
	}
	switch c.server {
	case serverDies:
		c.one.End()
	case serverWakes:
		fault.Check(c.one.HaltItself(ctx))
		return func() {
			open()
			fault.Check(c.one.Thaw())
		}
	case serverDrains:
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			c.one.Drain()
		}()
		c.bell.At(c.one.url, "", fleet.Draining).Await(ctx)
		open()
		return func() { <-drained }
	}
	return open
}

// begin makes a call and lets its client do its part, until the call has paid, if the
// server has a fate, or until that part is done.
func (d *deal) begin(ctx context.Context) {
	d.request = fault.Must((&fleet.Client{Conn: d.one.http, Tool: d.style}).Ask(ctx, d.order))
	meets := d.client
	switch d.client {
	case clientCancels, againAtOnce, againThere:
		meets = fleet.InTheEffect
	}
	meeting := d.bell.Hold(d.one.url, d.order, meets)
	d.paid = d.bell.At(d.one.url, d.order, fleet.Paid)
	var paid <-chan string
	if d.server != serverStays {
		d.paid = d.bell.Hold(d.one.url, d.order, fleet.Paid)
		paid = d.paid.Rung
	}
	link := d.one.http
	if d.client == clientCancels { // over HTTP that is to hang up
		link = d.one.Conn
	}
	d.send(ctx, d.one, link)
	d.bell.At(d.one.url, d.order, fleet.RequestCame).Await(ctx)
	select {
	case <-meeting.Rung:
		err := fault.Caught(func() { d.leave(ctx) })
		meeting.Open()
		fault.Check(err)
		if paid != nil {
			d.paid.Await(ctx)
		}
	case <-paid:
		if d.client != clientStays {
			meeting.Open()
			d.leave(ctx)
		}
	case r := <-d.replies: // it never came there
		d.replies <- r
		if paid != nil {
			fault.Failf("it has not paid, and was told %v %w", r.Answer, r.err)
		}
		fault.Check(r.err)
	case <-ctx.Done():
		fault.Check(ctx.Err())
	}
}

// send sends the request, again while it is told to, until hangUp.
func (d *deal) send(ctx context.Context, to *site, link *wire.Client) {
	sending, cancel := context.WithCancel(ctx)
	c := &fleet.Client{Conn: link, Tool: d.style}
	d.hangUp = cancel
	if link == to.Conn {
		var last atomic.Pointer[jsonrpc.ID]
		var once sync.Once
		started := make(chan struct{})
		c.Started = func(id jsonrpc.ID) {
			last.Store(&id)
			once.Do(func() { close(started) })
		}
		d.hangUp = func() {
			<-started // the server may have the request before the client knows that it was sent
			_ = c.Cancel(ctx, *last.Load())
			cancel()
		}
	}
	d.sent++
	go func() {
		defer cancel()
		a, err := c.Settle(sending, d.request)
		isLost := sending.Err() != nil || to == d.one && (d.server == serverDies || d.server == serverDrains)
		if isLost && errors.As(err, new(fleet.Unanswered)) {
			a, err = fleet.Answer{Class: "none"}, nil
		}
		d.replies <- reply{a, err}
	}()
}

// leave lets the client give its request up, and send it again if it is one that does.
// It returns when the servers know.
func (d *deal) leave(ctx context.Context) {
	d.hangUp()
	came := d.bell.At(d.one.url, d.order, fleet.RequestCame)
	switch d.client {
	case againAtOnce:
		d.send(ctx, d.one, d.one.http)
	case againThere:
		d.send(ctx, d.other, d.other.http)
		came = d.bell.At(d.other.url, d.order, fleet.RequestCame)
	default:
		came = nil
	}
	d.bell.At(d.one.url, d.order, fleet.ClientLeft).Await(ctx)
	if came != nil {
		came.Await(ctx)
	}
}

// settle sends the request again until it is answered, and keeps the first answer.
func (d *deal) settle(ctx context.Context) {
	at := d.other
	if d.said == "" && d.server == serverStays && d.client != againThere {
		at = d.one
	}
	a := fault.Must((&fleet.Client{Conn: at.http, Tool: d.style}).Settle(ctx, d.request))
	if paid := fleet.Judge(d.job.Ledger, d.order, a); d.said == "" {
		d.said = fmt.Sprintf("%d %s", paid, a.Class)
	}
}

// collect judges the replies to the earlier requests.
func (d *deal) collect(ctx context.Context) {
	for range d.sent {
		select {
		case r := <-d.replies:
			fault.Check(r.err)
			fleet.Judge(d.job.Ledger, d.order, r.Answer)
		case <-ctx.Done():
			fault.Failf("a request is stuck")
		}
	}
}

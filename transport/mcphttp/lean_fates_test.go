package mcphttp_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fate is what becomes of a generated request while it is served. Handlers act at whole
// seconds after their request came, clients and operators at the offsets below, and the
// clocks of a server run at odd ones. So no two things happen at once, and their order is
// the same each time.
type fate struct {
	keepAlive time.Duration // of the server; 0 for none
	heartbeat time.Duration // of the front

	waits time.Duration   // in middleware, before the handler begins
	works []time.Duration // parts of the handler's work
	tells bool            // it notifies its client after each of them
	heeds string          // what it does when it is cancelled

	gone    bool          // the client had hung up when its request came
	hangsUp time.Duration // 0: the client waits for its answer
	why     error         // ends the context of the request; nil for net/http's way
	again   time.Duration // after it hung up the client sends the same; 0 for never

	shutsDown time.Duration // 0: the front goes on
	patience  time.Duration // of the shutdown
}

const (
	hangUpOffset   = 300 * time.Millisecond
	againOffset    = 400 * time.Millisecond
	shutdownOffset = 700 * time.Millisecond
	clockOffset    = 13 * time.Millisecond
)

// intents are the fates that are generated, in turn. What they come to depends on the
// request, see [account.ends].
var intents = []string{
	"slow", "kept alive", "drained", "cut off", "cut off before it began", "hung up",
	"hung up before it began", "hung up before it came", "sent again", "sent again later",
}

// The ways in which a handler takes that it is cancelled. One returns a result all the same.
const (
	ignores      = "ignores it"
	returnsErr   = "returns the error of its context"
	returnsCause = "returns the cause"
	wrapsCause   = "returns an error around the cause"
	returnsOther = "returns an error of its own"
	returnsPart  = "returns a result of its own"
	returnsTool  = "returns a result that holds the error"
	lingers      = "returns the error late"
)

var errProxyGone = errors.New("the proxy went away")

// seconds is a number of whole seconds from least to less than most.
func (g *generator) seconds(least, most time.Duration) time.Duration {
	return least + time.Duration(g.IntN(int((most-least)/time.Second)))*time.Second
}

func (g *generator) fate(intent string) fate {
	f := fate{
		heartbeat: time.Hour, tells: g.IntN(2) == 0,
		heeds: g.one(ignores, returnsErr, returnsCause, wrapsCause, returnsOther, returnsPart, returnsTool, lingers),
	}
	if g.IntN(2) == 0 {
		f.heartbeat = 2*time.Second + clockOffset
	}
	if intent == "kept alive" || g.IntN(4) == 0 {
		f.keepAlive = time.Second + clockOffset
	}
	if g.IntN(4) == 0 {
		f.why = errProxyGone
	}
	early := intent == "cut off before it began" || intent == "hung up before it began"
	if early || g.IntN(2) == 0 {
		f.waits = g.seconds(time.Second, 5*time.Second)
	}
	ends := f.waits
	for range 1 + g.IntN(3) {
		part := g.seconds(time.Second, 6*time.Second)
		f.works = append(f.works, part)
		ends += part
	}
	at := func() time.Duration {
		if early {
			return g.seconds(0, f.waits)
		}
		return g.seconds(f.waits, ends)
	}
	switch intent {
	case "drained":
		f.shutsDown, f.patience = g.seconds(0, ends)+shutdownOffset, time.Hour
	case "cut off", "cut off before it began":
		over := at()
		f.patience = g.seconds(0, over+time.Second)
		f.shutsDown = over - f.patience + shutdownOffset
	case "hung up", "hung up before it began":
		f.hangsUp = at() + hangUpOffset
	case "hung up before it came":
		f.gone = true
	case "sent again": // while the first one runs
		f.heeds = g.one(ignores, lingers)
		f.hangsUp, f.again = at()+hangUpOffset, againOffset-hangUpOffset
	case "sent again later":
		f.hangsUp, f.again = at()+hangUpOffset, time.Minute+againOffset-hangUpOffset
	}
	if f.hangsUp > 0 && g.IntN(4) == 0 {
		f.shutsDown, f.patience = g.seconds(0, 2*ends)+shutdownOffset, g.seconds(0, 5*time.Second)
	}
	return f
}

// stopped is what a handler returns that was cancelled.
func (f fate) stopped(ctx context.Context) (mcp.Result, error) {
	switch f.heeds {
	case lingers:
		time.Sleep(2 * time.Second)
		return nil, ctx.Err()
	case returnsCause:
		return nil, context.Cause(ctx)
	case wrapsCause:
		return nil, fmt.Errorf("stopped: %w", context.Cause(ctx))
	case returnsOther:
		return nil, errors.New("stopped")
	case returnsPart:
		return say("stopped")
	case returnsTool:
		result := &mcp.CallToolResult{}
		result.SetError(ctx.Err())
		return result, nil
	}
	return nil, ctx.Err()
}

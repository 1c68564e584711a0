package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/options"
)

// The answers of the client.
var answers = map[string]string{"place": "Springfield, Illinois", "units": "metric"}

// callTime bounds the call, which waits out the lease of a dead instance.
const callTime = time.Minute

// killOne kills the instance that has written the audit line, before it can remember
// so.
func killOne(said *transcript) func(*process, notice) {
	var once sync.Once
	return func(p *process, n notice) {
		if n.Did != wroteAudit {
			return
		}
		once.Do(func() {
			said.say("", "SIGKILL: %s ends before it can remember that it did", p.name)
			p.kill()
		})
	}
}

// showCall makes a call and counts its effects.
func (c *cluster) showCall(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	client, err := wire.DialHTTP(ctx, "http://"+c.address()+"/mcp", nil, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	reply, err := c.call(ctx, client)
	if err != nil {
		return err
	}
	c.said.say("client", "gets: %s", reply.Text)
	lines, err := c.audit().lines()
	if err != nil {
		return err
	}
	c.said.say("", "")
	c.said.say("", "One instance died, the call completed, and the audit has %d line.", len(lines))
	if reply.IsError || len(lines) != 1 {
		return fmt.Errorf("the audit has %d lines, and the result is %s", len(lines), reply.Result)
	}
	return nil
}

// call takes a call through its rounds, as a client does whose network fails.
func (c *cluster) call(ctx context.Context, client *wire.Client) (*wire.Reply, error) {
	r := wire.Request{Name: toolName, Arguments: options.Query{Location: "Springfield"}}
	c.said.say("client", "calls %s, at Springfield", toolName)
	for {
		reply, err := c.send(ctx, client, r)
		if err != nil || !reply.Incomplete() {
			return reply, err
		}
		responses := map[string]any{}
		for _, q := range reply.Asks {
			responses[q.Key] = map[string]any{"action": "accept", "content": map[string]any{q.Key: answers[q.Key]}}
			c.said.say("client", "is asked %q, answers %q", q.Message, answers[q.Key])
		}
		r.State, r.Responses = reply.State, responses
	}
}

// send sends a request until it is answered: again where no answer came, and where the
// answer says that it may be.
func (c *cluster) send(ctx context.Context, client *wire.Client, r wire.Request) (*wire.Reply, error) {
	for {
		reply, err := client.Send(ctx, r)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			c.said.say("client", "gets no answer, and sends the same request again")
			continue
		case reply.Error == nil:
			return reply, nil
		}
		var data struct{ Retryable bool }
		if json.Unmarshal(reply.Error.Data, &data) != nil || !data.Retryable {
			return nil, errors.New(reply.Error.Message)
		}
		c.said.say("client", "is told to send the same request again, and does")
	}
}

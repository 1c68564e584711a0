package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
)

// subject is one way to write a tool, on trial.
type subject struct {
	name     string
	effectAt place // where in the code its effect stands
	// serve builds an instance of the server from nothing. The instances of a
	// subject share their keys and what effect counts, and nothing else.
	serve func(effect func(line string)) (server *mcp.Server, stop func() error, err error)
}

// place is where an effect stands. It decides what a call leaves behind that
// is stopped half way.
type place int

const (
	atEnd   place = iota // below the last question
	between              // as early as all it needs is known
)

// contract is one call, and all that must come of it.
type contract struct {
	name    string
	request wire.Request
	answers map[string][]wire.Answer // by key; in turn, and the last ever after
	asks    []ask
	rounds  int // requests sent
	ends    ending
	effects effects
}

// ask is a question as the client must see it.
type ask struct{ key, message, schema string }

func (a ask) String() string { return fmt.Sprintf("%s: %q %s", a.key, a.message, a.schema) }

// ending is the last reply: a result, or the JSON-RPC error alone.
type ending struct {
	text, structured string
	isError          bool
	protocolError    string
}

// effects are how often the effect must have happened, by where it stands, and
// the line it leaves each time.
type effects struct {
	line           string
	atEnd, between int
}

func (e effects) of(s subject) []string {
	if s.effectAt == between {
		return slices.Repeat([]string{e.line}, e.between)
	}
	return slices.Repeat([]string{e.line}, e.atEnd)
}

// setting is how the calls are made.
type setting struct {
	name   string
	client *wire.Options
	// fresh gives each round an instance of its own, built when the one before
	// is gone.
	fresh bool
}

// seen is what one call was to its client, and what it left behind.
type seen struct {
	last       *wire.Reply
	rounds     int
	asked      []ask
	transcript []string
	effects    []string
}

// play makes the call of a contract. Its error is about the playing: what the
// tool does wrong is for the rules to say.
func play(ctx context.Context, s subject, c contract, in setting) (*seen, error) {
	var out seen
	answers := wire.Answers{}
	for key, turns := range c.answers {
		answers[key] = wire.InTurn(turns...)
	}
	var err error
	request := c.request
	for done := false; !done && err == nil; {
		err = connected(ctx, s, in, &out, func(client *wire.Client) error {
			if !in.fresh {
				done = true
				outcome, err := client.Run(ctx, request, answers)
				if err == nil {
					out.last, out.rounds = &outcome.Reply, outcome.Rounds
					out.take(outcome.Questions)
				}
				return err
			}
			reply, err := client.Send(ctx, request)
			if err != nil {
				return err
			}
			out.last = reply
			out.rounds++
			out.take(reply.Asks)
			request.State, request.Responses = reply.State, responses(reply.Asks, answers)
			done = !reply.Incomplete() || out.rounds > 20
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s (%s): %w", s.name, c.name, in.name, err)
	}
	return &out, nil
}

// connected builds an instance, talks to it, and takes it down again.
func connected(ctx context.Context, s subject, in setting, out *seen, talk func(*wire.Client) error) error {
	server, stop, err := s.serve(func(line string) { out.effects = append(out.effects, line) })
	if err != nil {
		return err
	}
	client, err := wire.Connect(ctx, server, in.client)
	if err != nil {
		return errors.Join(err, stop())
	}
	err = talk(client)
	err = errors.Join(err, client.Close(), stop())
	for _, m := range client.Messages() {
		line, maskErr := masked(m)
		err = errors.Join(err, maskErr)
		out.transcript = append(out.transcript, line)
	}
	return err
}

func (s *seen) take(questions []wire.Question) {
	for _, q := range questions {
		s.asked = append(s.asked, ask{q.Key, q.Message, string(q.Schema)})
	}
}

// responses answers the questions of one round; nil where nothing is answered.
func responses(questions []wire.Question, answers wire.Answers) any {
	given := map[string]any{}
	for _, q := range questions {
		answer := answers[q.Key]
		if answer == nil {
			answer = wire.Missing
		}
		if response := answer(q); response != nil {
			given[q.Key] = response
		}
	}
	if len(given) == 0 {
		return nil
	}
	return given
}

// masked is a frame without the two things in which equal calls may differ:
//
//   - the id, which numbers the messages of one connection, and says nothing
//     of the call (a call over several instances has several connections);
//   - requestState, which is opaque to clients by the protocol's own word:
//     sealed with a nonce, holding the times, and as long as what it holds.
//
// What stays of them is that they were there. Nothing else is masked, and a
// time that showed anywhere would be found.
func masked(m wire.Message) (string, error) {
	var message map[string]json.RawMessage
	if err := json.Unmarshal(m.JSON, &message); err != nil {
		return "", err
	}
	if message["id"] != nil {
		message["id"] = json.RawMessage(`"*"`)
	}
	for _, part := range []string{"params", "result"} {
		var fields map[string]json.RawMessage
		if json.Unmarshal(message[part], &fields) != nil || fields["requestState"] == nil {
			continue
		}
		fields["requestState"] = json.RawMessage(`"*"`)
		whole, err := json.Marshal(fields)
		if err != nil {
			return "", err
		}
		message[part] = whole
	}
	whole, err := json.Marshal(message)
	direction := "server: "
	if m.Sent {
		direction = "client: "
	}
	return direction + string(whole), err
}

package invariant

import (
	"context"
	"errors"
	"fmt"

	"github.com/mrtr-go/sdk/internal/wire"
)

// Observation records one call: all that its client saw, and its effects.
type Observation struct {
	Last     *wire.Reply
	Requests int
	Asked    []Question
	Messages []string // every JSON-RPC message in order, masked
	Effects  []string
}

// maxRequests ends a call that keeps asking. Every contract needs fewer.
const maxRequests = 21

// Play makes the call of a contract. The error says that the call could not be
// made; a reply that is wrong is not an error but breaks a rule.
func Play(ctx context.Context, s Subject, c Contract, in Setting) (*Observation, error) {
	p := player{subject: s, setting: in, answers: wire.Answers{}, saw: &Observation{}}
	for key, turns := range c.Answers {
		p.answers[key] = wire.InTurn(turns...)
	}
	play := p.onOneInstance
	if in.FreshInstances {
		play = p.onFreshInstances
	}
	if err := play(ctx, wire.Request{Name: c.Tool, Arguments: c.Arguments}); err != nil {
		return nil, fmt.Errorf("%s: %s (%s): %w", s.Name, c.Name, in.Name, err)
	}
	return p.saw, nil
}

// player plays one call.
type player struct {
	subject Subject
	setting Setting
	answers wire.Answers
	saw     *Observation
}

func (p *player) onOneInstance(ctx context.Context, request wire.Request) error {
	return p.connected(ctx, func(client *wire.Client) error {
		outcome, err := client.Run(ctx, request, p.answers)
		if err != nil {
			return err
		}
		p.saw.Last, p.saw.Requests = &outcome.Reply, outcome.Rounds
		p.asked(outcome.Questions)
		return nil
	})
}

func (p *player) onFreshInstances(ctx context.Context, request wire.Request) error {
	for p.saw.Last == nil || p.saw.Last.Incomplete() && p.saw.Requests < maxRequests {
		err := p.connected(ctx, func(client *wire.Client) error {
			reply, err := client.Send(ctx, request)
			if err != nil {
				return err
			}
			p.saw.Last = reply
			p.saw.Requests++
			p.asked(reply.Asks)
			request.State, request.Responses = reply.State, p.responses(reply.Asks)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// connected runs talk against a new instance, and stops the instance.
func (p *player) connected(ctx context.Context, talk func(*wire.Client) error) error {
	server, stop, err := p.subject.Serve(func(line string) { p.saw.Effects = append(p.saw.Effects, line) })
	if err != nil {
		return err
	}
	client, err := wire.Connect(ctx, server, p.setting.Client)
	if err != nil {
		return errors.Join(err, stop())
	}
	err = talk(client)
	err = errors.Join(err, client.Close(), stop())
	for _, m := range client.Messages() {
		text, maskErr := masked(m.JSON)
		err = errors.Join(err, maskErr)
		sender := "server: "
		if m.Sent {
			sender = "client: "
		}
		p.saw.Messages = append(p.saw.Messages, sender+text)
	}
	return err
}

func (p *player) asked(questions []wire.Question) {
	for _, q := range questions {
		p.saw.Asked = append(p.saw.Asked, Question{q.Key, q.Message, string(q.Schema)})
	}
}

// responses answers the questions of one round. It is nil where none is
// answered, since an empty object is another request than none.
func (p *player) responses(questions []wire.Question) any {
	given := map[string]any{}
	for _, q := range questions {
		answer := p.answers[q.Key]
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

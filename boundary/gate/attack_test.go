package gate_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/gate"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// An approval opens its call and no other: as the question's state before the answer, and
// after it as the pass of a tool that asks, here one which would believe anything. Every other
// use has the answer of a bad state.
func TestAnApprovalOpensItsCallAlone(t *testing.T) {
	for kind, records := range map[string]store.Store{"no store": nil, "store": machine{store.NewMemory(nil)}} {
		t.Run(kind, func(t *testing.T) {
			s := newSite(t, setting{store: records}).as("ann")
			s.addNaive(s.server, "naive", "gullible")
			c := s.client(nil)
			answers := map[string]any{"gate.approve": response["gate.approve"], "bin": map[string]any{"action": "accept", "content": map[string]any{}}}
			asked := s.send(c, wire.Request{Name: "naive", Arguments: path{"/a"}})
			passed := s.send(c, wire.Request{Name: "naive", Arguments: path{"/a"}, State: asked.State, Responses: response})
			require.Equal(t, "bin", passed.Asks[0].Key)
			require.NotEqual(t, "inner", passed.State)
			foreign := s.send(connect(t, s.another(), nil), wire.Request{Name: "asks", Arguments: path{"/a"}})
			s.called()

			flipped := func(token string) string {
				at := len(token) / 2
				return token[:at] + map[bool]string{true: "B", false: "A"}[token[at] == 'A'] + token[at+1:]
			}
			for name, state := range map[string]string{"question": asked.State, "pass": passed.State} {
				for attack, r := range map[string]wire.Request{
					"another tool":    {Name: "gullible", Arguments: path{"/a"}, State: state},
					"other arguments": {Name: "naive", Arguments: path{"/b"}, State: state},
					"none":            {Name: "naive", State: state},
					"flipped":         {Name: "naive", Arguments: path{"/a"}, State: flipped(state)},
					"cut":             {Name: "naive", Arguments: path{"/a"}, State: state[:len(state)-1]},
					"joined":          {Name: "naive", Arguments: path{"/a"}, State: state + passed.State},
					"the tool's own":  {Name: "naive", Arguments: path{"/a"}, State: "inner"},
					"another's":       {Name: "asks", Arguments: path{"/a"}, State: foreign.State},
				} {
					t.Log(name, attack)
					r.Responses = answers
					badState(t, s.send(c, r))
				}
				s.as("bob")
				badState(t, s.send(c, wire.Request{Name: "naive", Arguments: path{"/a"}, State: state, Responses: answers}))
				s.as("ann")
			}
			ahead := s.send(c, wire.Request{Name: "naive", Arguments: path{"/a"}, Responses: answers})
			require.Equal(t, "gate.approve", ahead.Asks[0].Key, "answers without a state are none")
			require.Empty(t, s.called())

			done := s.send(c, wire.Request{Name: "naive", Arguments: path{"/a"}, State: passed.State, Responses: answers})
			require.Equal(t, "complete", done.ResultType)
			require.Equal(t, []string{"naive with state inner"}, s.called())
		})
	}
}

// Approvals end with the lifetime of a state, before and after the answer.
func TestAnApprovalExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setting{options: mrtr.Options{State: &statecodec.Options{Ephemeral: true, TTL: time.Hour}}})
		s.addNaive(s.server, "naive")
		c := s.client(nil)
		asked := s.send(c, wire.Request{Name: "naive", Arguments: path{"/a"}})
		passed := s.send(c, wire.Request{Name: "naive", Arguments: path{"/a"}, State: asked.State, Responses: response})
		time.Sleep(time.Hour + time.Minute)
		s.called()
		for _, state := range []string{asked.State, passed.State} {
			badState(t, s.send(c, wire.Request{Name: "naive", Arguments: path{"/a"}, State: state, Responses: response}))
		}
		require.Empty(t, s.called())
		require.NoError(t, c.Close())
	})
}

// Two servers with one runtime do not take each other's approvals. Unless their gates have
// audiences, the second is refused.
func TestTwoServersDoNotShareApprovals(t *testing.T) {
	keys := &statecodec.Options{Keys: []statecodec.Key{testKey(t)}}
	s := newSite(t, setting{gate: gate.Options{Audience: "one"}, options: mrtr.Options{State: keys}})
	s.addNaive(s.server, "naive")
	c := s.client(nil)
	asked := s.send(c, wire.Request{Name: "naive", Arguments: path{"/a"}})
	passed := s.send(c, wire.Request{Name: "naive", Arguments: path{"/a"}, State: asked.State, Responses: response})
	another := s.another()
	s.addNaive(another, "naive")
	_, err := gate.Install(another, s.rt, &gate.Options{Audience: "two"})
	require.NoError(t, err)
	for _, state := range []string{asked.State, passed.State} {
		badState(t, s.send(connect(t, another, nil), wire.Request{Name: "naive", Arguments: path{"/a"}, State: state, Responses: response}))
	}

	s = newSite(t, setting{})
	require.Len(t, s.call(s.client(nil), "wipe", nil, yes).Questions, 1)
	s.called()
	another = s.another()
	_, err = gate.Install(another, s.rt, nil)
	require.NoError(t, err)
	require.Contains(t, s.call(connect(t, another, nil), "wipe", nil, yes).Text, "its server is not set up correctly")
	require.Empty(t, s.called())
}

// One gate serves the servers that a program makes for each request.
func TestOneGateForManyServers(t *testing.T) {
	s := newSite(t, setting{})
	for range 3 {
		server := s.another()
		s.gate.Install(server)
		require.Len(t, s.call(connect(t, server, nil), "wipe", nil, yes).Questions, 1)
	}
	require.Len(t, s.called(), 3)
}

// Whoever writes to the store cannot approve anything.
func TestApprovalsInTheStoreAreSealed(t *testing.T) {
	records := &forger{Memory: store.NewMemory(nil)}
	s := newSite(t, setting{store: records, gate: gate.Options{Remember: gate.Remember{For: time.Hour}}}).as("ann")
	c := s.client(nil)
	s.call(c, "wipe", nil, forever)
	require.Empty(t, s.call(c, "wipe", nil, nil).Questions)
	require.NotEmpty(t, records.sealed)
	require.NotContains(t, records.sealed, "ann")
	require.NotContains(t, records.sealed, "tool")

	s.as("bob")
	records.always = []byte(records.sealed)
	require.Len(t, s.call(c, "wipe", nil, no).Questions, 1, "the record of another principal")
	records.always = []byte(`{"tool":99999999999999}`)
	require.Len(t, s.call(c, "wipe", nil, no).Questions, 1)
}

// forger is a store that answers for gates as it likes.
type forger struct {
	*store.Memory
	sealed string
	always []byte
}

func (*forger) Scope() store.Scope { return store.Machine }

func (f *forger) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if strings.HasPrefix(key.Name, "gate.") {
		f.sealed = string(value)
	}
	return f.Memory.Create(ctx, key, value, ttl)
}

func (f *forger) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if f.always != nil && strings.HasPrefix(key.Name, "gate.") {
		return f.always, 1, nil
	}
	return f.Memory.Get(ctx, key)
}

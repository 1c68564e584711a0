package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/gate"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/store"
)

// asked reports whether a call of wipe asks, and declines then.
func (s *site) asked(c *wire.Client, tool string, args any) bool {
	s.Helper()
	out := s.call(c, tool, args, no)
	require.Equal(s, len(out.Questions) > 0, len(s.called()) == 0, "whoever is not asked has the call")
	return len(out.Questions) > 0
}

func TestDoNotAskAgain(t *testing.T) {
	for kind, records := range map[string]func() store.Store{
		"no store": func() store.Store { return nil }, "memory": func() store.Store { return store.NewMemory(nil) }, "shared": func() store.Store { return machine{store.NewMemory(nil)} },
	} {
		for way, client := range ways {
			for _, each := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", kind, way, each), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newSite(t, setting{store: records(), gate: gate.Options{Remember: gate.Remember{For: 48 * time.Hour, PerArguments: each}}}).as("ann")
						c := s.client(client)
						out := s.call(c, "wipe", nil, yes)
						require.Equal(t, []string{"approve", "remember"}, out.Questions[0].Properties())
						require.Contains(t, string(out.Questions[0].Schema), "for 2 days")
						s.called()
						require.True(t, s.asked(c, "wipe", nil), "a yes alone is not remembered")
						s.call(c, "wipe", nil, says(map[string]any{"approve": false, "remember": true}))
						require.True(t, s.asked(c, "wipe", nil), "neither is a no")

						require.Len(t, s.call(c, "wipe", nil, forever).Questions, 1)
						require.Equal(t, []string{"wipe /a"}, s.called())
						require.False(t, s.asked(c, "wipe", nil))
						require.Equal(t, each, s.asked(c, "wipe", path{"/b"}))
						require.True(t, s.asked(c, "bare", nil), "another tool")
						require.True(t, s.as("bob").asked(c, "wipe", nil), "another principal")
						require.True(t, s.as("").asked(c, "wipe", nil), "nobody")
						s.as("ann")
						require.False(t, s.asked(s.client(nil), "wipe", nil), "another session")

						time.Sleep(47 * time.Hour)
						require.False(t, s.asked(c, "wipe", nil))
						time.Sleep(time.Hour)
						require.True(t, s.asked(c, "wipe", nil))

						s.call(c, "wipe", nil, forever)
						s.called()
						require.NoError(t, s.gate.Revoke(context.Background(), "bob", "wipe"))
						require.NoError(t, s.gate.Revoke(context.Background(), "ann", "bare"))
						require.NoError(t, s.gate.Revoke(context.Background(), "", "wipe"))
						require.False(t, s.asked(c, "wipe", nil))
						require.NoError(t, s.gate.Revoke(context.Background(), "ann", "wipe"))
						require.True(t, s.asked(c, "wipe", nil))
						s.call(c, "wipe", nil, forever)
						require.Len(t, s.called(), 1)
						require.False(t, s.asked(c, "wipe", nil), "it can be remembered anew")
						require.NoError(t, c.Close())
					})
				})
			}
		}
	}
}

// Nothing is remembered of callers who are one to the server, whatever they send.
func TestNobodyIsRememberedWithoutAPrincipal(t *testing.T) {
	s := newSite(t, setting{gate: gate.Options{Remember: gate.Remember{For: time.Hour}}})
	c := s.client(nil)
	require.Equal(t, []string{"approve"}, s.call(c, "wipe", nil, yes).Questions[0].Properties())
	s.call(c, "wipe", nil, forever)
	s.called()
	require.True(t, s.asked(c, "wipe", nil))
}

// Arguments of one value are the same in any spelling. Those that mean two things are none.
func TestWhichArgumentsAreTheSame(t *testing.T) {
	s := newSite(t, setting{gate: gate.Options{Ask: gate.Tiers("destructive"), Remember: gate.Remember{For: time.Hour, PerArguments: true}}}).as("ann")
	c := s.client(nil)
	s.call(c, "wipe", json.RawMessage(`{"path":"/a"}`), forever)
	require.False(t, s.asked(c, "wipe", json.RawMessage(` { "path" : "\u002fa" } `)), s.called())
	require.True(t, s.asked(c, "wipe", json.RawMessage(`{"path":"/A"}`)))
	twice := s.call(c, "wipe", json.RawMessage(`{"path":"/b","path":"/a"}`), yes)
	require.EqualValues(t, -32602, twice.Error.Code)
	for i := range 150 {
		s.call(c, "wipe", path{fmt.Sprint(i)}, forever)
	}
	s.called()
	require.True(t, s.asked(c, "wipe", path{"10"}), "the oldest made room")
	require.False(t, s.asked(c, "wipe", path{"149"}))
}

// Each arguments have a time of their own.
func TestArgumentsExpireOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setting{gate: gate.Options{Remember: gate.Remember{For: time.Hour, PerArguments: true}}}).as("ann")
		c := s.client(nil)
		s.call(c, "wipe", nil, forever)
		time.Sleep(40 * time.Minute)
		s.call(c, "wipe", path{"/b"}, forever)
		time.Sleep(40 * time.Minute)
		s.called()
		require.True(t, s.asked(c, "wipe", nil))
		require.False(t, s.asked(c, "wipe", path{"/b"}))
		require.NoError(t, c.Close())
	})
}

// A program that starts again, or another instance, knows the approvals, and which of them
// were revoked.
func TestApprovalsLiveInTheStore(t *testing.T) {
	at := setting{store: machine{store.NewMemory(nil)}, gate: gate.Options{Remember: gate.Remember{For: time.Hour}}}
	one, two := newSite(t, at).as("ann"), newSite(t, at).as("ann")
	one.call(one.client(nil), "wipe", nil, forever)
	require.False(t, two.asked(two.client(nil), "wipe", nil))
	require.NoError(t, two.gate.Revoke(context.Background(), "ann", "wipe"))
	one.called()
	require.True(t, one.asked(one.client(nil), "wipe", nil))

	at.options.Audience = "staging"
	other := newSite(t, at).as("ann")
	one.call(one.client(nil), "wipe", nil, forever)
	require.True(t, other.asked(other.client(nil), "wipe", nil), "a server of another audience")
}

// An approval that comes while another one is revoked is revoked too, whether the record was
// there or not.
func TestRevokeWinsARace(t *testing.T) {
	records := &racing{Memory: store.NewMemory(nil)}
	s := newSite(t, setting{store: records, gate: gate.Options{Remember: gate.Remember{For: time.Hour}}}).as("ann")
	c := s.client(nil)
	for range 2 {
		records.meanwhile = func() { s.call(c, "wipe", nil, forever) }
		require.NoError(t, s.gate.Revoke(context.Background(), "ann", "wipe"))
		require.Nil(t, records.meanwhile)
		require.Len(t, s.called(), 1)
		require.True(t, s.asked(c, "wipe", nil))
	}
}

// racing is a store in which something happens behind the next read.
type racing struct {
	*store.Memory
	meanwhile func()
}

func (*racing) Scope() store.Scope { return store.Machine }

func (r *racing) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	value, at, err := r.Memory.Get(ctx, key)
	if f := r.meanwhile; f != nil {
		r.meanwhile = nil
		f()
	}
	return value, at, err
}

// A store that fails makes the gate ask, and Revoke say so.
func TestAStoreThatFails(t *testing.T) {
	records := &failing{Memory: store.NewMemory(nil)}
	s := newSite(t, setting{store: records, gate: gate.Options{Remember: gate.Remember{For: time.Hour}}}).as("ann")
	c := s.client(nil)
	s.call(c, "wipe", nil, forever)
	s.called()
	require.False(t, s.asked(c, "wipe", nil))
	records.fails = true
	require.True(t, s.asked(c, "wipe", nil))
	require.Error(t, s.gate.Revoke(context.Background(), "ann", "wipe"))
}

type failing struct {
	*store.Memory
	fails bool
}

func (*failing) Scope() store.Scope { return store.Machine }

func (f *failing) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if f.fails {
		return nil, 0, errors.New("down")
	}
	return f.Memory.Get(ctx, key)
}

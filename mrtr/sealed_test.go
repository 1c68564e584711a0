package mrtr_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

// The state travels through the client, which may send back anything.
// These two tests are why it is sealed.

// secondState is the state that weather_once returns with its second question.
func secondState(t *testing.T, rt *mrtr.Runtime) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather_once"}, options.Once(rt, &options.Card{}))
	client, err := wire.Connect(t.Context(), server, nil)
	require.NoError(t, err)
	defer client.Close()
	request := wire.Request{Name: "weather_once", Arguments: map[string]any{"location": "Springfield"}}
	first := kit.Send(t, client, request)
	request.State = first.State
	request.Responses = map[string]any{"place": wire.Value("Springfield, Illinois")(first.Asks[0])}
	second := kit.Send(t, client, request)
	require.True(t, second.Incomplete())
	return second.State
}

func TestInspectShowsWhatTheSealHides(t *testing.T) {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	payload, err := rt.Inspect(secondState(t, rt), statecodec.Binding{
		Target: "weather_once", Arguments: json.RawMessage(`{ "location": "Springfield" }`),
	})
	require.NoError(t, err)
	var state struct {
		Round   int
		Done    []struct{ Kind, Key string }
		Pending []struct{ Key string }
	}
	require.NoError(t, json.Unmarshal(payload, &state))
	require.Equal(t, 2, state.Round)
	require.Equal(t, []struct{ Kind, Key string }{{"", "place"}, {"effect", "charge"}}, state.Done)
	require.Equal(t, []struct{ Key string }{{"units"}}, state.Pending)
}

func TestInspectRefusesWhatARoundRefuses(t *testing.T) {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	own := statecodec.Binding{Target: "weather_once", Arguments: json.RawMessage(`{"location":"Springfield"}`)}
	other, err := mrtr.New(nil)
	require.NoError(t, err)
	defer other.Close()
	foreign := secondState(t, other)
	state := secondState(t, rt)
	cases := []struct {
		state       string
		request     statecodec.Binding
		reason      statecodec.Reason
		explanation string
	}{
		{state[:40] + flip(state[40:41]) + state[41:], own, statecodec.ReasonForged, "one character is changed"},
		{state, statecodec.Binding{Target: "weather_native", Arguments: own.Arguments}, statecodec.ReasonForged, "another tool"},
		{state, statecodec.Binding{Target: own.Target, Arguments: json.RawMessage(`{"location":"Tokyo"}`)}, statecodec.ReasonForged, "other arguments"},
		{state, statecodec.Binding{Target: own.Target, Arguments: own.Arguments, Principal: "mallory"}, statecodec.ReasonForged, "another caller"},
		{foreign, own, statecodec.ReasonUnknownKey, "another runtime's key"},
		{"", own, statecodec.ReasonMalformed, "no state"},
	}
	for _, c := range cases {
		_, err := rt.Inspect(c.state, c.request)
		var refused *statecodec.TokenError
		require.ErrorAs(t, err, &refused, c.explanation)
		require.Equal(t, c.reason, refused.Reason(), c.explanation)
	}
}

// The record of an instance whose clock is two hours ahead, or behind, opens elsewhere: its store says
// when it has expired. A token that a client keeps does not.
func TestARecordOpensByEveryClock(t *testing.T) {
	keys := []statecodec.Key{statecodec.GenerateKey()}
	at := func(hours int, ttl time.Duration, do func(t *testing.T, s keep.Sealer)) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(hours) * time.Hour)
			rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: keys}})
			require.NoError(t, err)
			defer rt.Close()
			s, err := rt.Sealer("test", ttl, 0)
			require.NoError(t, err)
			do(t, s)
		})
	}
	for sealed, opened := range map[int]int{2: 0, 0: 2} {
		for ttl, opens := range map[time.Duration]bool{0: true, time.Hour: false} {
			var token string
			at(sealed, ttl, func(_ *testing.T, s keep.Sealer) { token, _ = s.Seal(statecodec.Binding{}, nil) })
			at(opened, ttl, func(t *testing.T, s keep.Sealer) {
				record, err := s.Open(statecodec.Binding{}, token)
				require.Equal(t, opens, err == nil, "%v", err)
				require.NotNil(t, record, "an empty one is one")
			})
		}
	}
}

// flip is another character of the same alphabet.
func flip(c string) string {
	if c == "A" {
		return "B"
	}
	return "A"
}

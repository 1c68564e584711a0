package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

func TestEveryStyleIsServedAndItsChargeIsFound(t *testing.T) {
	s := serve(t)
	bench := s.bench()
	client := s.dial(bench, "/a/ws")
	require.Len(t, s.h.styles, len(options.All)+1+2+len(weather.Late), "the styles and the journaled coroutine, two exhibits, and those that charge")
	for _, st := range s.h.styles {
		before := len(s.events(bench))
		out, err := client.Call(t.Context(), st.Tool, map[string]any{"location": "Lisbon"}, metric)
		require.NoError(t, err)
		require.Equal(t, "Weather in Lisbon: 22°C, partly cloudy.", out.Text, st.Name)
		charges := 0
		for _, e := range s.events(bench)[before:] {
			if e.Kind != "charge" {
				continue
			}
			charges++
			require.NotEmpty(t, e.Call, "a charge belongs to its call")
			h := st.Handlers[0]
			require.Equal(t, path.Base(h.Path), e.File, st.Name)
			require.Contains(t, h.Lines[e.Line-h.From], "card.Charge(place", "line %d of %s", e.Line, h.Path)
			require.Contains(t, kindsOf(h)[e.Line], "effect", "the page knows line %d of %s as the effect", e.Line, h.Path)
		}
		require.NotZero(t, charges, st.Name)
	}
}

func TestASocketWithAnotherKeyRefusesAState(t *testing.T) {
	s := serve(t)
	bench := s.bench()
	request := lisbon("weather_native")
	asked, err := s.dial(bench, "/a/ws").Send(t.Context(), request)
	require.NoError(t, err)
	request.State = asked.State
	request.Responses, err = metric.Responses(asked.Asks)
	require.NoError(t, err)
	for query, code := range map[string]int64{"": 0, "?key=other": -32602} {
		reply, err := s.dial(bench, "/b/ws"+query).Send(t.Context(), request)
		require.NoError(t, err)
		if code == 0 {
			require.Equal(t, "Weather in Lisbon: 22°C, partly cloudy.", reply.Text)
		} else {
			require.Equal(t, code, reply.Error.Code)
		}
	}
}

// An event that comes behind the response of its round is taken for one of the next round.
func TestARoundTellsOnlyWhatIsDrawn(t *testing.T) {
	s := serve(t)
	for _, query := range []string{"", "?store=on"} {
		bench := s.bench()
		_, err := s.dial(bench, "/a/ws"+query).Call(t.Context(), "weather_native", map[string]any{"location": "Lisbon"}, metric)
		require.NoError(t, err)
		var kinds []string
		for _, e := range s.events(bench) {
			kinds = append(kinds, e.Kind)
		}
		require.Equal(t, []string{"handler entered", "questions asked", "handler entered", "charge", "call completed"}, kinds, query)
	}
}

// kindsOf is the kind of each line that begins a statement, as the page gets it.
func kindsOf(h handler) map[int][]string {
	kinds := map[int][]string{}
	var add func([]statement)
	add = func(body []statement) {
		for _, s := range body {
			kinds[s.From] = append(kinds[s.From], s.Kind)
			add(s.body)
		}
	}
	for _, p := range h.parts {
		add(p.body)
	}
	return kinds
}

func TestTheQuestionsAreTheOnesThatAreAsked(t *testing.T) {
	// The page goes by these names and defaults; the tool could be changed
	// without them.
	s := serve(t)
	status, answer, _ := s.do("GET", "/demo/quadrant", "")
	require.Equal(t, http.StatusOK, status)
	var calls []answered
	require.NoError(t, json.Unmarshal([]byte(answer), &calls))
	require.Len(t, calls, 4*9*2)
	withDefault := map[string]bool{}
	for _, c := range calls {
		if c.Era == "modern" {
			require.Equal(t, "asked", c.Got, "%+v", c)
		}
		withDefault[c.Question] = withDefault[c.Question] || c.Got == "default"
	}
	for _, q := range questions {
		require.Equal(t, q.hasDefault, withDefault[q.key], q.key)
	}
	require.Len(t, withDefault, len(questions))
}

func TestAKilledInstanceIsGoneAndTheOtherGoesOn(t *testing.T) {
	s := serve(t)
	for _, tool := range []string{"weather_native", "weather_journal", "weather_resumable", "weather_coroutine"} {
		bench := s.bench()
		a := s.dial(bench, "/a/ws")
		request := lisbon(tool)
		first, err := a.Send(t.Context(), request)
		require.NoError(t, err)
		before := s.events(bench)
		status, answer := s.post(bench+"/a/kill", "{}")
		require.Equal(t, http.StatusNoContent, status, answer)
		_, err = a.Send(t.Context(), request)
		require.Error(t, err, "its socket is cut")
		status, _, _ = s.do("GET", bench+"/a/ws", "")
		require.Equal(t, http.StatusServiceUnavailable, status)

		request.State = first.State
		request.Responses = map[string]any{"units": wire.Value("metric")(first.Asks[0])}
		last, err := s.dial(bench, "/b/ws").Send(t.Context(), request)
		require.NoError(t, err)
		if tool == "weather_coroutine" {
			require.True(t, last.IsError)
			require.Contains(t, last.Text, "This call's frame is gone")
		} else {
			require.Equal(t, "Weather in Lisbon: 22°C, partly cloudy.", last.Text, tool)
		}
		for _, e := range s.events(bench)[len(before):] {
			require.Equal(t, "b", e.Instance, "a killed process says nothing: %+v", e)
		}
		status, _ = s.post(bench+"/a/start", "{}")
		require.Equal(t, http.StatusNoContent, status)
		_, err = s.dial(bench, "/a/ws").Send(t.Context(), lisbon(tool))
		require.NoError(t, err)
	}
}

func TestAKilledInstanceSaysNoGoodbye(t *testing.T) {
	s := serve(t)
	bench := s.bench()
	dialer := websocket.Dialer{Subprotocols: []string{wstransport.Subprotocol}}
	conn, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+bench+"/a/ws", nil)
	require.NoError(t, err)
	defer conn.Close()
	status, _ := s.post(bench+"/a/kill", "{}")
	require.Equal(t, http.StatusNoContent, status)
	_, _, err = conn.ReadMessage()
	var closed *websocket.CloseError
	if errors.As(err, &closed) { // else the connection was reset, which says nothing either
		require.Equal(t, websocket.CloseAbnormalClosure, closed.Code)
	}
	require.Error(t, err)
}

func TestAStateIsOpenedForItsVisitorAlone(t *testing.T) {
	s := serve(t)
	bench := s.bench()
	reply, err := s.dial(bench, "/a/ws").Send(t.Context(), lisbon("weather_native"))
	require.NoError(t, err)
	body := func(tool, location string) string {
		raw, err := json.Marshal(map[string]any{"state": reply.State, "tool": tool, "arguments": map[string]string{"location": location}})
		require.NoError(t, err)
		return string(raw)
	}
	_, answer := s.post(bench+"/open", body("weather_native", "Lisbon"))
	require.Contains(t, answer, `"pending":[{"key":"units","text":"Which units?"`)
	for _, c := range []struct{ bench, body, reason string }{
		{bench, body("weather_once", "Lisbon"), "forged_or_transplanted"},
		{bench, body("weather_native", "Tokyo"), "forged_or_transplanted"},
		{s.bench(), body("weather_native", "Lisbon"), "unknown_key"},
	} {
		_, answer = s.post(c.bench+"/open", c.body)
		require.JSONEq(t, `{"refused":"`+c.reason+`"}`, answer)
	}
	status, _ := s.post(bench+"/open", `{"state":"`+strings.Repeat("A", maxBody)+`"}`)
	require.Equal(t, http.StatusBadRequest, status, "a body over the limit")
}

func TestStatesOfAShortLifeExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closing sync.WaitGroup
		b, err := newBench("bench", &closing)
		require.NoError(t, err)
		st, err := b.instances["a"].stand(settings{short: true})
		require.NoError(t, err)
		client, err := wire.Connect(t.Context(), st.server, nil)
		require.NoError(t, err)
		request := lisbon("weather_native")
		first, err := client.Send(t.Context(), request)
		require.NoError(t, err)
		time.Sleep(shortLife + time.Second)
		request.State, request.Responses = first.State, map[string]any{"units": wire.Value("metric")(first.Asks[0])}
		late, err := client.Send(t.Context(), request)
		require.NoError(t, err)
		require.EqualValues(t, -32602, late.Error.Code)
		all := b.events.after(0)
		require.Equal(t, "expired", all[len(all)-1].Reason)
		require.NoError(t, client.Close())
		b.close()
		closing.Wait()
	})
}

// A task whose instance is killed while it works goes on at the other one, if there is a store.
// Nobody knows the outcome of a held handler, or of a step that was cut off.
func TestATaskIsTakenOverInMidWork(t *testing.T) {
	const done, unknown, lost = "Weather in Lisbon: 22°C, partly cloudy.", "begun before", "Task not found"
	tried := 0
	for _, o := range weather.Late {
		for _, kept := range []bool{true, false} {
			tried++
			synctest.Test(t, func(t *testing.T) {
				var closing sync.WaitGroup
				b, err := newBench("bench", &closing)
				require.NoError(t, err)
				clients := map[string]*wire.Client{}
				for name, i := range b.instances {
					st, err := i.stand(settings{store: kept})
					require.NoError(t, err)
					clients[name], err = wire.Connect(t.Context(), st.server, &wire.Options{TakesTasks: true})
					require.NoError(t, err)
				}
				asked, err := clients["a"].Send(t.Context(), lisbon(o.Tool()))
				require.NoError(t, err)
				responses, err := metric.Responses(asked.Asks)
				require.NoError(t, err)
				_, err = clients["a"].Exchange(t.Context(), wire.Request{Method: "tasks/update", Params: map[string]any{
					"_meta": clients["a"].Meta(), "taskId": asked.Task, "inputResponses": responses,
				}})
				require.NoError(t, err)
				time.Sleep(time.Second) // the end of an effect is noted soon, and not at once
				all := b.events.after(0)
				require.Equal(t, "at work", all[len(all)-1].Kind, o.Name)
				require.NotZero(t, all[len(all)-1].Line)
				b.instances["a"].kill()
				end, err := clients["b"].Poll(t.Context(), asked.Task)
				require.NoError(t, err)
				want := done
				switch {
				case !kept:
					want = lost
				case o.Letter == "H", o.Letter == "G":
					want = unknown
				}
				text := end.Text
				if end.Error != nil {
					text = end.Error.Message
				}
				require.Contains(t, text, want, o.Name)
				charges := 0
				for _, e := range b.events.after(0) {
					if e.Kind == "charge" {
						charges++
					}
				}
				require.Equal(t, 1, charges, o.Name)
				for _, client := range clients {
					require.NoError(t, client.Close())
				}
				b.close()
				closing.Wait()
			})
		}
	}
	require.Equal(t, 10, tried)
}

func TestAnotherVersionOfAToolRefusesAState(t *testing.T) {
	s := serve(t)
	bench := s.bench()
	tried := 0
	for _, o := range everyStyle() {
		tried++
		request := lisbon(o.Tool())
		asked, err := s.dial(bench, "/a/ws").Send(t.Context(), request)
		require.NoError(t, err)
		request.State = asked.State
		request.Responses, err = metric.Responses(asked.Asks)
		require.NoError(t, err)
		before := len(s.events(bench))
		reply, err := s.dial(bench, "/b/ws?version=next").Send(t.Context(), request)
		require.NoError(t, err)
		require.True(t, reply.IsError, o.Name)
		require.Contains(t, reply.Text, "it was written as ", o.Name)
		for _, e := range s.events(bench)[before:] {
			require.Equal(t, "call stopped", e.Kind, "%s: no handler is entered", o.Name)
			t.Log(e.Reason, e.ErrorType, reply.Text)
		}
	}
	require.NotZero(t, tried)
}

func TestBenchesAreBounded(t *testing.T) {
	s := serve(t)
	inUse, idle := s.bench(), s.bench()
	client := s.dial(inUse, "/a/ws")
	for range maxBenches {
		s.bench()
	}
	require.Len(t, s.h.benches.open, maxBenches)
	_, err := client.Send(t.Context(), lisbon("weather_native"))
	require.NoError(t, err, "who is there keeps the bench")
	status, _, _ := s.do("GET", idle+"/events?after=0", "")
	require.Equal(t, http.StatusNotFound, status, "the oldest that nobody uses made room")
}

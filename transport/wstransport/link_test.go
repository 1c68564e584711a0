package wstransport_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
)

// Whatever order calls arrive, arrive again, are answered and cancelled in, each is handed
// over once, each request gets one answer, and a connection that drains is idle when the
// last one is written. The rest is cut off, and its places are given back.
func TestALinkOwesOneAnswerARequest(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		load := inflight.New(8, 8)
		l := inflight.Link{FromClient: true}
		l.Most, l.Load = 5, load
		owed := map[string]int{} // requests under an id that have no answer
		texts := map[string]string{}
		var draining <-chan struct{}
		answer := func(id string) *jsonrpc.Response {
			msg, err := jsonrpc.DecodeMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":{}}`, id))
			require.NoError(t, err)
			return msg.(*jsonrpc.Response)
		}
		for step := range 60 {
			id := fmt.Sprint(r.IntN(7))
			if step == 40 {
				draining = l.Drain()
			}
			switch r.IntN(4) {
			case 0: // an answer
				require.True(t, l.Claim(answer(id)))
				times, awaited := l.Settle(answer(id))
				require.Equal(t, max(1, owed[id]), times)
				require.Equal(t, owed[id] > 0, awaited)
				if delete(owed, id); awaited {
					l.Written()
				}
			case 1: // a cancellation
				msg, refused, err := l.Receive(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id))
				require.NoError(t, err)
				require.Nil(t, refused)
				require.Equal(t, owed[id] > 0, msg != nil)
			default:
				text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"m","params":{"x":%d}}`, id, r.IntN(2))
				msg, refused, err := l.Receive([]byte(text))
				require.NoError(t, err)
				code := map[bool]string{true: "-32600"}[owed[id] > 8 || owed[id] > 0 && texts[id] != text]
				switch {
				case owed[id] > 0 && code == "":
					owed[id]++
					require.Nil(t, msg)
					require.Nil(t, refused)
					continue
				case code != "":
				case draining != nil:
					code = "-31001"
				case len(owed) == 5:
					code = "-31000"
				}
				require.Equal(t, code == "", msg != nil)
				if code != "" {
					require.Equal(t, code, fmt.Sprint(refused.Error.(*jsonrpc.Error).Code))
					times, awaited := l.Settle(refused)
					require.Equal(t, []any{1, false}, []any{times, awaited}, "it settles nothing")
					continue
				}
				owed[id], texts[id] = 1, text
			}
			if draining != nil {
				require.Equal(t, len(owed) == 0, closed(draining))
			}
		}
		onWay := slices.Collect(func(yield func(string) bool) {
			for id := range owed {
				if !yield(id) || r.IntN(2) == 0 {
					return
				}
			}
		})
		for _, id := range onWay {
			require.True(t, l.Claim(answer(id)))
		}
		for _, cut := range l.Take() {
			id := cut.ID.Raw().(string)
			require.NotContains(t, onWay, id)
			require.Equal(t, inflight.ErrCutOff, cut.Error)
			require.False(t, l.Claim(answer(id)))
			owed[id]--
		}
		require.Empty(t, l.Take())
		require.Equal(t, len(onWay) == 0, closed(draining))
		for _, id := range onWay {
			l.Settle(answer(id))
			l.Written()
			delete(owed, id)
		}
		require.True(t, closed(draining))
		for id, n := range owed {
			require.Zero(t, n, id)
		}
		l.Over()
		require.Equal(t, inflight.New(8, 8), load)
	}
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// What is received: subscriptions are completed and not awaited, an ambiguous answer ends its
// question, a ping goes to a client that initialized, and ids stay as they were written.
func TestALinkReceivesAndSends(t *testing.T) {
	l := inflight.Link{FromClient: true, Admit: func(req *jsonrpc.Request) *jsonrpc.Error {
		return map[string]*jsonrpc.Error{"unwanted": {Code: -7}}[req.Method]
	}}
	receive := func(text string) (jsonrpc.Message, *jsonrpc.Response) {
		msg, answer, err := l.Receive([]byte(text))
		require.NoError(t, err)
		return msg, answer
	}
	ping, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	require.NoError(t, err)
	require.True(t, l.Unpingable(ping))
	_, _ = receive(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	require.False(t, l.Unpingable(ping))
	require.True(t, (&inflight.Link{FromClient: true}).Unpingable(ping))
	require.False(t, (&inflight.Link{}).Unpingable(ping))

	msg, _ := receive(`{"jsonrpc":"2.0","id":5,"result":{"action":"accept","action":"decline"}}`)
	require.ErrorContains(t, msg.(*jsonrpc.Response).Error, `an answer has two members "action"`)
	for _, dropped := range []string{`{"jsonrpc":"2.0","method":"m","method":"n"}`, `{"jsonrpc":"2.0","method":"unwanted"}`} {
		msg, answer := receive(dropped)
		require.Nil(t, msg)
		require.Nil(t, answer)
	}
	_, answer := receive(`{"jsonrpc":"2.0","id":5,"method":"unwanted"}`)
	require.EqualValues(t, -7, answer.Error.(*jsonrpc.Error).Code)
	_, answer = receive(`{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["a"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	require.EqualValues(t, -32021, answer.Error.(*jsonrpc.Error).Code)

	id := "12345678901234567890"
	msg, _ = receive(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{}}`)
	text, err := l.Encode(msg)
	require.NoError(t, err)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"subscriptions/listen","params":{}}`, string(text))
	l.Settle(&jsonrpc.Response{ID: ping.(*jsonrpc.Request).ID})
	l.Written()
	require.True(t, closed(l.Drain()), "a subscription is not awaited")
	answers := l.Take()
	require.Len(t, answers, 1)
	text, err = l.Encode(answers[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`}}}`, string(text))
	_, _, err = l.Receive([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"))
	require.Error(t, err)
}

// A door lets nobody in once it is closed, and is empty when the last one has left.
func TestADoor(t *testing.T) {
	var d inflight.Door
	require.True(t, d.Enter())
	require.True(t, d.Enter())
	require.True(t, d.Ready())
	d.Retire()
	require.False(t, d.Ready())
	require.False(t, d.Closed())
	empty := d.Close()
	require.False(t, d.Enter())
	d.Leave()
	require.False(t, closed(empty))
	d.Leave()
	require.True(t, closed(empty) && closed(d.Close()) && d.Closed())
	var fresh inflight.Door
	require.True(t, closed(fresh.Close()))
}

// Over a connection, as over stdio and WebSocket, a call of a legacy session gets its answer again for
// ten seconds, in the same words. Other calls are made again: they have other ways to be told apart.
func TestALinkAnswersACallAgain(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pay"}}`
	for name, c := range map[string]struct {
		legacy    bool
		text      string
		again     string
		wait      time.Duration
		isRepeat  bool
		isRefused bool
	}{
		"at once":          {legacy: true, text: call, again: call, isRepeat: true},
		"an error":         {legacy: true, text: call, again: call, isRepeat: true, isRefused: true},
		"nine seconds on":  {legacy: true, text: call, again: call, wait: 9 * time.Second, isRepeat: true},
		"ten seconds on":   {legacy: true, text: call, again: call, wait: 10 * time.Second},
		"another body":     {legacy: true, text: call, again: strings.Replace(call, "pay", "book", 1)},
		"another method":   {legacy: true, text: call, again: strings.Replace(call, "tools/call", "prompts/get", 1)},
		"another id":       {legacy: true, text: call, again: strings.Replace(call, "7", "8", 1)},
		"what asks nobody": {legacy: true, text: strings.Replace(call, "tools/call", "tools/list", 1), again: strings.Replace(call, "tools/call", "tools/list", 1)},
		"a modern client":  {text: call, again: call},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := inflight.Link{FromClient: true}
				receive := func(text string) (jsonrpc.Message, *jsonrpc.Response) {
					msg, answer, err := l.Receive([]byte(text))
					require.NoError(t, err)
					return msg, answer
				}
				if c.legacy {
					receive(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
				}
				msg, _ := receive(c.text)
				answer := &jsonrpc.Response{ID: msg.(*jsonrpc.Request).ID, Result: []byte(`{"content":[]}`)}
				if c.isRefused {
					answer.Result, answer.Error = nil, &jsonrpc.Error{Code: -32602, Message: "no"}
				}
				text, err := l.Encode(answer)
				require.NoError(t, err)
				first := string(text)
				l.Settle(answer)
				time.Sleep(c.wait)
				msg, answer = receive(c.again)
				require.Equal(t, c.isRepeat, msg == nil)
				if !c.isRepeat {
					return
				}
				require.False(t, inflight.IsRefusal(answer))
				text, err = l.Encode(answer)
				require.NoError(t, err)
				require.Equal(t, first, string(text))
				times, awaited := l.Settle(answer)
				require.Equal(t, []any{1, false}, []any{times, awaited})
			})
		})
	}
}

// The answers of a session are few and short: the oldest go first, and a long one is not kept. Those of
// all sessions are bounded too. A request that waits already gets its answer in any case. A call whose answer went does not run again.
func TestTheAnswersThatAreKeptAreBounded(t *testing.T) {
	synctest.Test(t, keptAnswersAreBounded)
}

func keptAnswersAreBounded(t *testing.T) {
	id := func(n int) jsonrpc.ID {
		id, err := jsonrpc.MakeID(fmt.Sprint(n))
		require.NoError(t, err)
		return id
	}
	plays := func(s *inflight.Repeats, n, long int) {
		call, first := s.Begin(id(n), nil, nil)
		require.True(t, first)
		require.True(t, call.Enter())
		call.End([]byte(strings.Repeat("x", long)), true)
		require.Nil(t, call.Leave(true))
	}
	knows := func(s *inflight.Repeats, n int) bool {
		call, first := s.Begin(id(n), nil, nil)
		require.False(t, first)
		answer, err := call.Await(context.Background())
		require.NoError(t, err)
		require.Nil(t, call.Leave(false))
		return !strings.Contains(string(answer), "was not kept")
	}
	var s inflight.Repeats
	for n := range 17 {
		plays(&s, n, 1)
	}
	require.False(t, knows(&s, 0))
	for n := 1; n < 17; n++ {
		require.True(t, knows(&s, n), n)
	}
	plays(&s, 17, 64<<10)
	require.True(t, knows(&s, 17))
	require.False(t, knows(&s, 16), "there is no room for both")
	plays(&s, 18, 64<<10+1)
	require.False(t, knows(&s, 18))

	for i, long := range []int{1, 64<<10 + 1} { // one that others push out, and a long one
		n := 19 + i
		call, _ := s.Begin(id(n), nil, nil)
		waits, first := s.Begin(id(n), nil, nil)
		require.False(t, first)
		require.True(t, call.Enter())
		call.End([]byte(strings.Repeat("x", long)), true)
		require.Nil(t, call.Leave(true))
		for other := range 17 {
			plays(&s, 100*n+other, 1)
		}
		answer, err := waits.Await(context.Background())
		require.NoError(t, err)
		require.Len(t, answer, long, "it waited when the answer was made")
		require.Nil(t, waits.Leave(false))
		require.False(t, knows(&s, n))
	}

	many := make([]inflight.Repeats, 2000)
	kept := 0
	for i := range many {
		plays(&many[i], 1, 64<<10)
		if knows(&many[i], 1) {
			kept++
		}
	}
	require.Less(t, kept, 64<<20/(64<<10))
	require.Greater(t, kept, 1000)
	time.Sleep(11 * time.Second)
	synctest.Wait()
	plays(&many[0], 1, 64<<10)
	require.True(t, knows(&many[0], 1), "they were let go of with their calls")
}

// A call that was not begun is made when it arrives again.
func TestACallThatWasNotBegunIsNotRepeated(t *testing.T) {
	var s inflight.Repeats
	id, err := jsonrpc.MakeID("1")
	require.NoError(t, err)
	for _, did := range []bool{false, true} {
		call, first := s.Begin(id, nil, nil)
		require.True(t, first)
		require.Equal(t, did, inflight.Did(map[bool]error{false: callerror.NotBegun("again", "busy"), true: context.Canceled}[did]))
		call.End([]byte("{}"), did)
	}
	_, first := s.Begin(id, nil, nil)
	require.False(t, first)
}

package internal_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
)

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

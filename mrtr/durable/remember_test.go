package durable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

func TestRememberOptionsAreChecked(t *testing.T) {
	memory := store.NewMemory(nil)
	ephemeral, keyed := &statecodec.Options{Ephemeral: true}, &statecodec.Options{Keys: keys(1)}
	for explanation, opts := range map[string]*mrtr.Options{
		"the store of a process, and keys that others have": {Durable: durable.In(memory, nil), State: keyed},
		"a store that lives on, and a key that does not":    {Durable: durable.In(shared{memory}, nil), State: ephemeral},
		"the same, with the key of a process by default":    {Durable: durable.In(shared{memory}, nil)},
		"nothing to remember in":                            {Durable: durable.In(nil, nil)},
		"a negative lease":                                  {Durable: durable.In(memory, &durable.Options{Lease: -1})},
		"a lease that no clock keeps":                       {Durable: durable.In(memory, &durable.Options{Lease: 1})},
		"a negative wait":                                   {Durable: durable.In(memory, &durable.Options{Wait: -1})},
		"negative patience":                                 {Durable: durable.In(memory, &durable.Options{Patience: -1})},
		"a lease of less than four times the patience":      {Durable: durable.In(memory, &durable.Options{Lease: 4*time.Second - 1, Patience: time.Second})},
		"patience for more than a quarter of a lease":       {Durable: durable.In(memory, &durable.Options{Patience: 4 * time.Second})},
		"negative attempts":                                 {Durable: durable.In(memory, &durable.Options{MaxAttempts: -1})},
		"a negative result":                                 {Durable: durable.In(memory, &durable.Options{MaxResult: -1})},
	} {
		_, err := mrtr.New(opts)
		misuse(t, err, explanation)
	}
	rt, _ := newRuntime(t, &mrtr.Options{Durable: durable.In(memory, &durable.Options{Lease: 4 * time.Second, Patience: time.Second})})
	var did deeds
	require.Panics(t, func() {
		mrtr.Tool(rt, linear.Coroutine(holdAndPay(&did)), &mrtr.HandlerOptions{Interrupted: mrtr.InterruptedAgain})
	}, "a coroutine cannot run again")
	require.Panics(t, func() {
		mrtr.Tool(rt, linear.Journal(holdAndPay(&did)), &mrtr.HandlerOptions{Interrupted: 7})
	})
}

// A result that is too large goes out once, and nothing runs for it again.
func TestAResultThatIsTooLargeIsNotKept(t *testing.T) {
	opts := withStore(store.NewMemory(nil), &durable.Options{MaxResult: 100})
	var did deeds
	tool := newTrip(newTripRuntime(t, opts), mrtr.Native(nativeOf(&did)), "")
	seat := tool.begin()
	long := strings.Repeat("x", 200)
	require.Equal(t, tripReply{plan: long}, tool.answer(seat, long))
	err := tool.answer(seat, long).err
	ended(t, err, mrtr.ResultNotKept)
	require.EqualError(t, err, "This round was completed before, and its result was not kept: do not call the tool again without checking.")
	require.Equal(t, 1, did.count("paid"))
}

// A handler that forgets is served as without a store, which may be down.
func TestAHandlerMayForget(t *testing.T) {
	s := newHookedStore()
	s.fail(store.ErrFull)
	var did deeds
	rt := newTripRuntime(t, withStore(s))
	tool := &tripTool{handler: mrtr.Tool(rt, mrtr.Native(nativeOf(&did)), &mrtr.HandlerOptions{Unstored: true})}
	seat := tool.begin()
	require.Equal(t, tripReply{plan: "window"}, tool.answer(seat, "window"))
	require.Equal(t, tripReply{plan: "aisle"}, tool.answer(seat, "aisle"))
	require.Equal(t, 2, did.count("paid"))
}

// A call that asks nothing leaves no record.
func TestACallThatAsksNothingIsNotRecorded(t *testing.T) {
	s := newHookedStore()
	tool := newTrip(newTripRuntime(t, withStore(s)), mrtr.Native(func(context.Context, *mrtr.Call, tripIn) (*mrtr.IncompleteResult, tripOut, error) {
		return nil, tripOut{Plan: "done"}, nil
	}), "")
	tool.begin() // which asks for the epoch
	s.fail(store.ErrFull)
	require.Equal(t, tripReply{plan: "done"}, tool.begin())
}

func TestEventsOfRememberedRounds(t *testing.T) {
	seen := &recorder{}
	opts := withStore(store.NewMemory(nil))
	opts.Listener = observe.With(seen)
	var did deeds
	tool := newTrip(newTripRuntime(t, opts), mrtr.Native(nativeOf(&did)), "")
	seat := tool.begin()
	again := tool.round(t.Context(), "", seat.state, nil) // the answer is missing
	tool.answer(again, "window")
	tool.answer(seat, "window")
	tool.answer(seat, "aisle")
	var kinds []observe.Kind
	for _, e := range seen.all() {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []observe.Kind{
		observe.RoundStarted, observe.HandlerEntered, observe.QuestionsAsked,
		observe.RoundStarted, observe.AnswerRefused, observe.QuestionsAsked,
		observe.RoundStarted, observe.RoundClaimed, observe.QuestionAnswered, observe.HandlerEntered, observe.CallCompleted,
		observe.RoundStarted, observe.RoundRepeated, observe.QuestionAnswered,
		observe.RoundStarted, observe.RoundRefused,
	}, kinds)
	answered := seen.of(observe.QuestionAnswered)
	require.Equal(t, []string{mrtr.HowAccepted, mrtr.HowRepeated}, []string{answered[0].Answer, answered[1].Answer})
}

// The states of one turn are worth the same: the one that was sent first, and the one
// with which its question was asked again.
func TestARoundThatIsAskedAgainIsTheSameTurn(t *testing.T) {
	for _, style := range duplicateStyles {
		t.Run(style.name, func(t *testing.T) {
			var did deeds
			tool := newTrip(newTripRuntime(t, remembering()), style.style(t, &did), "")
			seat := tool.begin()
			again := tool.round(t.Context(), "", seat.state, nil)
			require.NoError(t, again.err)
			pay := tool.answer(seat, "window") // the earlier state
			require.Equal(t, []string{"pay"}, pay.asks)
			require.Equal(t, pay, tool.answer(again, "window"))
			refusedOtherwise(t, tool.answer(again, "aisle"))
			require.Equal(t, tripReply{plan: "window yes"}, tool.answer(pay, "yes"))
			require.Equal(t, 1, did.count("held"))
		})
	}
}

// A turn does not outlive the time of its first state, however often its question is
// asked again: its record is gone then.
func TestATurnEndsWithItsFirstState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := remembering()
		opts.State.TTL, opts.State.Skew = time.Minute, time.Second
		var did deeds
		tool := newTrip(newTripRuntime(t, opts), mrtr.Native(nativeOf(&did)), "")
		seat := tool.begin()
		time.Sleep(50 * time.Second)
		again := tool.round(t.Context(), "", seat.state, nil)
		require.NoError(t, again.err)
		time.Sleep(10 * time.Second)
		require.Equal(t, tripReply{plan: "window"}, tool.answer(again, "window"))
		time.Sleep(2 * time.Second)
		badStateOf(t, tool.answer(again, "window"))
		require.Equal(t, 1, did.count("paid"))
	})
}

// The end of a list of steps may have effects of its own, and does not run twice.
func TestTheEndOfStepsRunsAtMostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		memory := store.NewMemory(nil)
		serve := func(i *instance) *tripTool {
			var list tripSteps
			seat := steps.Ask(&list, "seat", asks("seat", &deeds{}))
			list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
				did.note("paid")
				i.reach(afterEffect)
				return tripOut{Plan: seat.Of(at)}, nil
			})
			return newTrip(newTripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil)}), list.MustBuild(), "")
		}
		first, second := newInstance(memory, afterEffect), newInstance(memory, "")
		dying, living := serve(first), serve(second)
		seat := dying.begin()
		own := first.stopsIn(func() tripReply { return dying.answer(seat, "window") })
		e := ended(t, living.answer(seat, "window").err, mrtr.OutcomeUnknown)
		require.Equal(t, []string{"end"}, e.Unknown)
		first.goOn()
		require.Error(t, (<-own).err)
		require.Equal(t, 1, did.count("paid"))
	})
}

// What leaves the process is sealed.
func TestRecordsAreSealed(t *testing.T) {
	s := newHookedStore()
	s.scope = store.Cluster
	var mu sync.Mutex
	var values [][]byte
	s.on(func(op operation) error {
		mu.Lock()
		defer mu.Unlock()
		if op.value != nil {
			values = append(values, op.value)
		}
		return nil
	})
	var did deeds
	tool := newTrip(newTripRuntime(t, &mrtr.Options{Durable: durable.In(s, nil)}), linear.Journal(holdAndPay(&did)), "")
	pay := tool.answer(tool.begin(), "canary")
	require.Equal(t, tripReply{plan: "canary yes"}, tool.answer(pay, "yes"))
	require.NotEmpty(t, values)
	for _, value := range values {
		for _, word := range []string{"canary", "held", "status"} {
			require.False(t, bytes.Contains(value, []byte(word)), word)
		}
	}
}

// repeatSubjects are handlers that ask for units in round one, and end in round two in
// something that must come out the same for a repeat.
var repeatSubjects = []struct {
	name   string
	method string
	answer wire.Answer
	add    func(rt *mrtr.Runtime, server *mcp.Server, name string)
	// changes: a result that JSON does not keep is replaced by one that it does.
	changes bool
}{
	{name: "a typed result", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(said string) (output, error) { return output{said}, nil })},
	{name: "a text of its own", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (spoken, error) { return spoken{7}, nil })},
	{name: "content of its own", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (pictured, error) { return pictured{N: 7, Shows: true}, nil })},
	{name: "a _meta of its own alone", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (pictured, error) { return pictured{N: 7}, nil })},
	{name: "an output that reads less than it writes", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (oneWay, error) { return oneWay{shown: "x"}, nil }), changes: true},
	{name: "a text that is not UTF-8", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (output, error) { return output{"\xff"}, nil }), changes: true},
	{name: "an output without a type", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (any, error) {
		return map[string]any{"z": json.Number("12345678901234567890"), "a": int64(1)<<60 + 1, "f": 1e300, "h": "<&>"}, nil
	})},
	{name: "a nil output", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (*output, error) { return nil, nil })},
	{name: "another question", method: "tools/call", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
			if _, ok := mrtr.Answer(c, units); !ok {
				return mrtr.Need(units), output{}, nil
			}
			return mrtr.Need(mrtr.Confirm("sure", "Sure? <&>"), mrtr.Elicit[tripIn]("who", "Who?")), output{}, nil
		}), nil))
	}},
	{name: "another question, whose state stays in the store", method: "tools/call", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
			if _, ok := mrtr.Answer(c, units); !ok {
				return mrtr.Need(units), output{}, nil
			}
			_, err := mrtr.Once(ctx, c, "long", func(context.Context, string) (string, error) { return strings.Repeat("x", 4<<10), nil })
			return mrtr.Need(mrtr.Confirm("sure", "Sure? <&>")), output{}, err
		}), nil))
	}},
	{name: "a raw result", method: "tools/call", answer: wire.Value("metric"), add: rawRepeat(func() *mcp.CallToolResult {
		return &mcp.CallToolResult{
			Meta:              mcp.Meta{"a": 12345678901234567, "b": map[string]any{"z": 1, "a": 2}},
			Content:           []mcp.Content{&mcp.TextContent{Text: "<b>", Annotations: &mcp.Annotations{Priority: 0.1}}, &mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}, &mcp.ResourceLink{URI: "mem://x", Name: "x"}},
			StructuredContent: json.RawMessage(`{"z":1,"a":12345678901234567890,"f":1.0,"e":1e2}`),
		}
	})},
	{name: "a raw error result", method: "tools/call", answer: wire.Value("metric"), add: rawRepeat(func() *mcp.CallToolResult {
		res := &mcp.CallToolResult{}
		res.SetError(&fullError{"IC 1"})
		return res
	})},
	{name: "no raw result", method: "tools/call", answer: wire.Value("metric"), add: rawRepeat(func() *mcp.CallToolResult { return nil })},
	{name: "a prompt", method: "prompts/get", answer: wire.Value("metric"), add: promptRepeat(nil)},
	{name: "an error of a prompt", method: "prompts/get", answer: wire.Value("metric"), add: promptRepeat(&fullError{"IC 1"})},
	{name: "a fault of a prompt", method: "prompts/get", answer: wire.Value("metric"), add: promptRepeat(errors.New("disk full"))},
	{name: "a declined prompt", method: "prompts/get", answer: wire.Decline, add: promptRepeat(nil)},
	{name: "a resource", method: "resources/read", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		server.AddResource(&mcp.Resource{URI: name, Name: name}, mrtr.Resource(rt, mrtr.Native(guardedOf(func(s *stage, uri string) (*mcp.ReadResourceResult, error) {
			ask(s, units)
			return &mcp.ReadResourceResult{Meta: mcp.Meta{"a": 1.5}, Contents: []*mcp.ResourceContents{{URI: uri, Text: "<x>", MIMEType: "text/plain"}, {URI: uri, Blob: []byte{0, 1}}}}, nil
		})), nil))
	}},
	{name: "an error", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (output, error) { return output{}, errors.New("no <luck>") })},
	{name: "an error with hints", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (output, error) {
		return output{}, fmt.Errorf("booking: %w", &fullError{"IC 1"})
	})},
	{name: "an error of the boundary's", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (output, error) {
		return output{}, &boundary.Execution{Code: "E1", Hints: []string{"Try IC 2."}, Effect: "applied", Operation: "book", Expected: true, Err: errClosed}
	})},
	{name: "an error after an effect", method: "tools/call", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, linear.Journal(linearOf(func(s *stage, _ input) (output, error) {
			ctx, c := s.ctx, s.Call
			ask(s, units)
			_, err := mrtr.Once(ctx, c, "pay", func(context.Context, string) (int, error) { return 1, nil })
			return output{}, errors.Join(err, errClosed)
		})), nil))
	}},
	{name: "a panic", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (output, error) { panic("ouch") })},
	{name: "a decline", method: "tools/call", answer: wire.Decline, add: typedRepeat(func(said string) (output, error) { return output{said}, nil })},
	{name: "a cancel", method: "tools/call", answer: wire.Cancel, add: typedRepeat(func(said string) (output, error) { return output{said}, nil })},
}

// pictured has content, which need not be text, and metadata.
type pictured struct {
	N     int  `json:"n"`
	Shows bool `json:"shows"`
}

func (p pictured) Content() []mcp.Content {
	if !p.Shows {
		return nil
	}
	return []mcp.Content{&mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}, &mcp.ResourceLink{URI: "mem://x", Name: "x"}}
}

func (pictured) Meta() mcp.Meta { return mcp.Meta{"b": 12345678901234567, "a": "<x>"} }

// oneWay writes a member that it does not read.
type oneWay struct{ shown string }

func (o oneWay) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"shown": o.shown})
}

func typedRepeat[Out any](end func(said string) (Out, error)) func(*mrtr.Runtime, *mcp.Server, string) {
	return func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		tool := &mcp.Tool{Name: name}
		if _, ok := any(*new(Out)).(oneWay); ok {
			tool.OutputSchema = map[string]any{"type": "object"}
		}
		mcp.AddTool(server, tool, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, Out, error) {
			said, ok := mrtr.Answer(c, units)
			if !ok {
				var none Out
				return mrtr.Need(units), none, nil
			}
			out, err := end(said)
			return nil, out, err
		}), nil))
	}
}

func rawRepeat(end func() *mcp.CallToolResult) func(*mrtr.Runtime, *mcp.Server, string) {
	return func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, mrtr.RawTool(rt, mrtr.Native(guardedOf(func(s *stage, _ json.RawMessage) (*mcp.CallToolResult, error) {
			ask(s, units)
			return end(), nil
		})), nil))
	}
}

func promptRepeat(fails error) func(*mrtr.Runtime, *mcp.Server, string) {
	return func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		server.AddPrompt(&mcp.Prompt{Name: name}, mrtr.Prompt(rt, mrtr.Native(guardedOf(func(s *stage, _ map[string]string) (*mcp.GetPromptResult, error) {
			ask(s, units)
			return &mcp.GetPromptResult{Description: "d", Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "<x>"}}}}, fails
		})), nil))
	}
}

// tokens are the states on the wire.
var tokens = regexp.MustCompile(`"requestState":"[^"]*"`)

// own finds the id and the duration of a request in the boundary's report.
var own = regexp.MustCompile(`"(requestId":"[^"]*"|durationMs":[0-9.e-]+)`)

// A repeat gets the same bytes on the wire as the first request, whatever the outcome.
func TestRepeatsAreEqualInTheirBytes(t *testing.T) {
	require.NotEmpty(t, repeatSubjects)
	for _, bounded := range []bool{false, true} {
		for i, s := range repeatSubjects {
			t.Run(fmt.Sprintf("%s, boundary %t", s.name, bounded), func(t *testing.T) {
				play := func(opts *mrtr.Options, times int) (said []string, seen *recorder) {
					rt, seen := newRuntime(t, opts)
					server := newServer()
					name := fmt.Sprintf("mem://%d", i)
					if s.method != "resources/read" {
						name = fmt.Sprintf("subject%d", i)
					}
					s.add(rt, server, name)
					if bounded {
						require.NoError(t, boundary.Install(server, nil))
					}
					client := connect(t, server, nil)
					request := wire.Request{Method: s.method, Name: name}
					if s.method == "tools/call" {
						request.Arguments = map[string]any{}
					}
					asked := send(t, client, request)
					require.Nil(t, asked.Error)
					require.Len(t, asked.Asks, 1)
					request.State = asked.State
					request.Responses = map[string]any{"units": s.answer(asked.Asks[0])}
					for range times {
						response, err := client.Exchange(t.Context(), request)
						require.NoError(t, err)
						text := string(response.Result)
						if response.Error != nil {
							text = string(mustJSON(response.Error))
						}
						said = append(said, own.ReplaceAllString(text, `"`))
					}
					return said, seen
				}
				said, seen := play(remembering(), 3)
				require.Equal(t, said[0], said[1])
				require.Equal(t, said[0], said[2])
				require.Len(t, seen.of(observe.RoundClaimed), 1)
				require.Len(t, seen.of(observe.RoundRepeated), 2)
				if s.changes {
					return
				}
				without, _ := play(&mrtr.Options{}, 1)
				require.Equal(t, tokens.ReplaceAllString(without[0], ""), tokens.ReplaceAllString(said[0], ""), "the same as without a store")
			})
		}
	}
}

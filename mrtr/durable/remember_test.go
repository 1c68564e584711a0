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
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

func TestRememberOptionsAreChecked(t *testing.T) {
	memory := store.NewMemory(nil)
	ephemeral, keyed := &statecodec.Options{Ephemeral: true}, &statecodec.Options{Keys: kit.Keys(1)}
	for explanation, opts := range map[string]*mrtr.Options{
		"the store of a process, and keys that others have": {Durable: durable.In(memory, nil), State: keyed},
		"a store that lives on, and a key that does not":    {Durable: durable.In(kit.Shared{Memory: memory}, nil), State: ephemeral},
		"the same, with the key of a process by default":    {Durable: durable.In(kit.Shared{Memory: memory}, nil)},
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
		kit.Misuse(t, err, explanation)
	}
	rt, _ := kit.NewRuntime(t, &mrtr.Options{Durable: durable.In(memory, &durable.Options{Lease: 4 * time.Second, Patience: time.Second})})
	var did kit.Deeds
	require.Panics(t, func() {
		mrtr.Tool(rt, linear.Coroutine(holdAndPay(&did)), &mrtr.HandlerOptions{RunAgain: true})
	}, "a coroutine cannot run again")
}

// A result that is too large goes out once, and nothing runs for it again.
func TestAResultThatIsTooLargeIsNotKept(t *testing.T) {
	opts := withStore(store.NewMemory(nil), &durable.Options{MaxResult: 100})
	var did kit.Deeds
	tool := kit.NewTrip(kit.TripRuntime(t, opts), mrtr.Native(nativeOf(&did)), "")
	seat := tool.Begin()
	long := strings.Repeat("x", 200)
	require.Equal(t, kit.Reply{Plan: long}, tool.Answer(seat, long))
	err := tool.Answer(seat, long).Err
	kit.Ended(t, err, mrtr.ResultNotKept)
	require.EqualError(t, err, "This round was completed before, and its result was not kept: do not call the tool again without checking.")
	require.Equal(t, "applied", report.EffectOf(err))
	require.Equal(t, 1, did.Count("paid"))
}

// The repeat of an error that is too large to be kept says that an effect stands only if one does.
func TestAnErrorThatIsTooLargeIsNotToldAsAnEffect(t *testing.T) {
	for pays, want := range map[bool]string{false: "unknown", true: "applied"} {
		var did kit.Deeds
		tool := kit.NewTrip(kit.TripRuntime(t, remembering()), linear.Journal(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			kit.Ask(s, kit.Text("seat"))
			if pays {
				kit.Once(s, "pay", did.Do("paid"))
			}
			return kit.Out{}, errors.New(strings.Repeat("x", 1<<20))
		})), "")
		seat := tool.Begin()
		require.Error(t, tool.Answer(seat, "window").Err)
		err := tool.Answer(seat, "window").Err
		kit.Ended(t, err, mrtr.ResultNotKept)
		require.Equal(t, want, report.EffectOf(err))
	}
}

// A turn does not outlive the time of its first state, however often its question is
// asked again: its record is gone then.
func TestATurnEndsWithItsFirstState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := remembering()
		opts.State.TTL, opts.State.Skew = time.Minute, time.Second
		var did kit.Deeds
		tool := kit.NewTrip(kit.TripRuntime(t, opts), mrtr.Native(nativeOf(&did)), "")
		seat := tool.Begin()
		time.Sleep(50 * time.Second)
		again := tool.Round(t.Context(), "", seat.State, nil)
		require.NoError(t, again.Err)
		time.Sleep(10 * time.Second)
		require.Equal(t, kit.Reply{Plan: "window"}, tool.Answer(again, "window"))
		time.Sleep(2 * time.Second)
		badStateOf(t, tool.Answer(again, "window"))
		require.Equal(t, 1, did.Count("paid"))
	})
}

// The end of a list of steps may have effects of its own, and does not run twice.
func TestTheEndOfStepsRunsAtMostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did kit.Deeds
		memory := store.NewMemory(nil)
		serve := func(i *instance) *kit.Trip {
			var list kit.Steps
			seat := steps.Ask(&list, "seat", kit.Asks("seat", &kit.Deeds{}))
			list.End(func(_ context.Context, at *kit.At) (kit.Out, error) {
				did.Note("paid")
				i.reach(afterEffect)
				return kit.Out{Plan: seat.Of(at)}, nil
			})
			return kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil)}), list.MustBuild(), "")
		}
		first, second := newInstance(memory, afterEffect), newInstance(memory, "")
		dying, living := serve(first), serve(second)
		seat := dying.Begin()
		own := first.stopsIn(func() kit.Reply { return dying.Answer(seat, "window") })
		e := kit.Ended(t, living.Answer(seat, "window").Err, mrtr.OutcomeUnknown)
		require.Equal(t, []string{"end"}, e.Unknown)
		first.goOn()
		require.Error(t, (<-own).Err)
		require.Equal(t, 1, did.Count("paid"))
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
			values = append(values, bytes.Clone(op.value))
		}
		return nil
	})
	var did kit.Deeds
	tool := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, nil)}), linear.Journal(holdAndPay(&did)), "")
	pay := tool.Answer(tool.Begin(), "canary")
	require.Equal(t, kit.Reply{Plan: "canary yes"}, tool.Answer(pay, "yes"))
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
	{name: "a typed result", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(said string) (kit.Output, error) { return kit.Output{Said: said}, nil })},
	{name: "a text of its own", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (spoken, error) { return spoken{7}, nil })},
	{name: "content of its own", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (pictured, error) { return pictured{N: 7, Shows: true}, nil })},
	{name: "a _meta of its own alone", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (pictured, error) { return pictured{N: 7}, nil })},
	{name: "an output that reads less than it writes", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (oneWay, error) { return oneWay{shown: "x"}, nil }), changes: true},
	{name: "a text that is not UTF-8", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (kit.Output, error) { return kit.Output{Said: "\xff"}, nil }), changes: true},
	{name: "an output without a type", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (any, error) {
		return map[string]any{"z": json.Number("12345678901234567890"), "a": int64(1)<<60 + 1, "f": 1e300, "h": "<&>"}, nil
	})},
	{name: "a nil output", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (*kit.Output, error) { return nil, nil })},
	{name: "another question", method: "tools/call", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			if _, ok := mrtr.Answer(c, kit.Units); !ok {
				return mrtr.Need(kit.Units), kit.Output{}, nil
			}
			return mrtr.Need(mrtr.Confirm("sure", "Sure? <&>"), mrtr.Elicit[kit.In]("who", "Who?")), kit.Output{}, nil
		}), nil))
	}},
	{name: "another question, whose state stays in the store", method: "tools/call", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			if _, ok := mrtr.Answer(c, kit.Units); !ok {
				return mrtr.Need(kit.Units), kit.Output{}, nil
			}
			_, err := mrtr.Once(ctx, c, "long", func(context.Context, string) (string, error) { return strings.Repeat("x", 4<<10), nil })
			return mrtr.Need(mrtr.Confirm("sure", "Sure? <&>")), kit.Output{}, err
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
		res.SetError(&kit.FullError{Train: "IC 1"})
		return res
	})},
	{name: "no raw result", method: "tools/call", answer: wire.Value("metric"), add: rawRepeat(func() *mcp.CallToolResult { return nil })},
	{name: "a prompt", method: "prompts/get", answer: wire.Value("metric"), add: promptRepeat(nil)},
	{name: "an error of a prompt", method: "prompts/get", answer: wire.Value("metric"), add: promptRepeat(&kit.FullError{Train: "IC 1"})},
	{name: "a fault of a prompt", method: "prompts/get", answer: wire.Value("metric"), add: promptRepeat(errors.New("disk full"))},
	{name: "a declined prompt", method: "prompts/get", answer: wire.Decline, add: promptRepeat(nil)},
	{name: "a resource", method: "resources/read", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		server.AddResource(&mcp.Resource{URI: name, Name: name}, rt.Resource(mrtr.Native(kit.Guarded(func(s *kit.Stage, uri string) (*mcp.ReadResourceResult, error) {
			kit.Ask(s, kit.Units)
			return &mcp.ReadResourceResult{Meta: mcp.Meta{"a": 1.5}, Contents: []*mcp.ResourceContents{{URI: uri, Text: "<x>", MIMEType: "text/plain"}, {URI: uri, Blob: []byte{0, 1}}}}, nil
		})), nil))
	}},
	{name: "an error", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (kit.Output, error) { return kit.Output{}, errors.New("no <luck>") })},
	{name: "an error with hints", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (kit.Output, error) {
		return kit.Output{}, fmt.Errorf("booking: %w", &kit.FullError{Train: "IC 1"})
	})},
	{name: "an error of the boundary's", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (kit.Output, error) {
		return kit.Output{}, &boundary.Execution{Code: "E1", Hints: []string{"Try IC 2."}, Effect: "applied", Operation: "book", Expected: true, Err: kit.ErrClosed}
	})},
	{name: "an error after an effect", method: "tools/call", answer: wire.Value("metric"), add: func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, mrtr.Tool(rt, linear.Journal(kit.Linear(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
			ctx, c := s.Ctx, s.Call
			kit.Ask(s, kit.Units)
			_, err := mrtr.Once(ctx, c, "pay", func(context.Context, string) (int, error) { return 1, nil })
			return kit.Output{}, errors.Join(err, kit.ErrClosed)
		})), nil))
	}},
	{name: "a panic", method: "tools/call", answer: wire.Value("metric"), add: typedRepeat(func(string) (kit.Output, error) { panic("ouch") })},
	{name: "a decline", method: "tools/call", answer: wire.Decline, add: typedRepeat(func(said string) (kit.Output, error) { return kit.Output{Said: said}, nil })},
	{name: "a cancel", method: "tools/call", answer: wire.Cancel, add: typedRepeat(func(said string) (kit.Output, error) { return kit.Output{Said: said}, nil })},
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
		mcp.AddTool(server, tool, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, Out, error) {
			said, ok := mrtr.Answer(c, kit.Units)
			if !ok {
				var none Out
				return mrtr.Need(kit.Units), none, nil
			}
			out, err := end(said)
			return nil, out, err
		}), nil))
	}
}

func rawRepeat(end func() *mcp.CallToolResult) func(*mrtr.Runtime, *mcp.Server, string) {
	return func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, rt.RawTool(mrtr.Native(kit.Guarded(func(s *kit.Stage, _ json.RawMessage) (*mcp.CallToolResult, error) {
			kit.Ask(s, kit.Units)
			return end(), nil
		})), nil))
	}
}

func promptRepeat(fails error) func(*mrtr.Runtime, *mcp.Server, string) {
	return func(rt *mrtr.Runtime, server *mcp.Server, name string) {
		server.AddPrompt(&mcp.Prompt{Name: name}, rt.Prompt(mrtr.Native(kit.Guarded(func(s *kit.Stage, _ map[string]string) (*mcp.GetPromptResult, error) {
			kit.Ask(s, kit.Units)
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
				play := func(opts *mrtr.Options, times int) (said []string, seen *kit.Recorder) {
					rt, seen := kit.NewRuntime(t, opts)
					server := kit.NewServer()
					name := fmt.Sprintf("mem://%d", i)
					if s.method != "resources/read" {
						name = fmt.Sprintf("subject%d", i)
					}
					s.add(rt, server, name)
					if bounded {
						require.NoError(t, boundary.Install(server, nil))
					}
					client := kit.Connect(t, server, nil)
					request := wire.Request{Method: s.method, Name: name}
					if s.method == "tools/call" {
						request.Arguments = map[string]any{}
					}
					asked := kit.Send(t, client, request)
					require.Nil(t, asked.Error)
					require.Len(t, asked.Asks, 1)
					request.State = asked.State
					request.Responses = map[string]any{"units": s.answer(asked.Asks[0])}
					for range times {
						response, err := client.Exchange(t.Context(), request)
						require.NoError(t, err)
						text := string(response.Result)
						if response.Error != nil {
							text = string(kit.JSON(response.Error))
						}
						said = append(said, own.ReplaceAllString(text, `"`))
					}
					return said, seen
				}
				said, seen := play(remembering(), 3)
				require.Equal(t, said[0], said[1])
				require.Equal(t, said[0], said[2])
				require.Len(t, seen.Of(observe.RoundClaimed), 1)
				require.Len(t, seen.Of(observe.RoundRepeated), 2)
				if s.changes {
					return
				}
				without, _ := play(&mrtr.Options{}, 1)
				require.Equal(t, tokens.ReplaceAllString(without[0], ""), tokens.ReplaceAllString(said[0], ""), "the same as without a store")
			})
		}
	}
}

// spoken is an output with a text of its own.
type spoken struct {
	N int `json:"n"`
}

func (s spoken) Text() string { return fmt.Sprintf("It is %d.", s.N) }

// soonBetter is an error after which the same request may be sent again.
type soonBetter struct{ error }

func (soonBetter) ToolErrorRetryable() bool { return true }

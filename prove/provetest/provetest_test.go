package provetest_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
	"github.com/mrtr-go/sdk/prove"
	"github.com/mrtr-go/sdk/prove/provetest"
	"github.com/mrtr-go/sdk/statecodec"
)

// nightly tries all rules. The styles are proved by the tests of package prove.
var nightly = os.Getenv("MRTR_NIGHTLY") == "1"

// by tries these rules and groups, or all of them nightly. The rules
// of this package are always tried.
func by(rules ...string) *prove.Options {
	if nightly {
		return nil
	}
	return &prove.Options{Only: slices.DeleteFunc(slices.Clone(rules), func(name string) bool { return strings.HasPrefix(name, "instance/") })}
}

// failed are the names of the rules that a report condemns.
func failed(report *prove.Report) (names []string) {
	for _, f := range report.Failures(prove.Ours) {
		names = append(names, f.Rule.Name)
	}
	return names
}

// weather serves one style under two names.
func weather(t *testing.T, o options.Option) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		rt := engine(t, w)
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
		for _, name := range []string{"weather", "forecast"} {
			mcp.AddTool(server, &mcp.Tool{Name: name}, o.New(rt, &options.Card{Out: w.Effect}))
		}
		return server
	}
}

func engine(t *testing.T, w *mrtrtest.World) *mrtr.Runtime {
	key, err := statecodec.NewKey(w.Key())
	require.NoError(t, err)
	rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}})
	require.NoError(t, err)
	w.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt
}

var springfield = prove.Scenario{
	Tool: "weather", OtherTool: "forecast",
	Arguments:      map[string]any{"location": "Springfield"},
	OtherArguments: map[string]any{"location": "Lisbon"},
	Answers:        map[string]any{"place": "Springfield, Missouri", "units": "metric"},
	OtherAnswers:   map[string]any{"place": "Springfield, Illinois", "units": "imperial"},
}

var (
	seat  = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)
	meals = mrtr.Choose("meal", "Which meal?", mrtr.Choices("fish", "beans")...)
)

// guarded is a tool with two questions and an effect between them, made with the
// engine; fault stands where the effect does.
func guarded(t *testing.T, fault func(ctx context.Context, w *mrtrtest.World, c *mrtr.Call) error, undos ...func(w *mrtrtest.World) mrtr.Undoing) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		var declared []mrtr.Undoing
		for _, undo := range undos {
			declared = append(declared, undo(w))
		}
		rt := engine(t, w)
		server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, in trip) (*mrtr.IncompleteResult, booking, error) {
			where, ok := mrtr.Answer(c, seat)
			if !ok {
				return mrtr.Need(seat), booking{}, nil
			}
			if err := fault(ctx, w, c); err != nil {
				return nil, booking{}, err
			}
			meal, ok := mrtr.Answer(c, meals)
			if !ok {
				return mrtr.Need(meals), booking{}, nil
			}
			return nil, booking{Text: "Booked to " + in.To + ", " + where + ", " + meal + "."}, nil
		}).OnStop(declared...), nil))
		return server
	}
}

var bookDinner = prove.Scenario{Tool: "book", Repeatable: true, Arguments: map[string]any{"to": "Lisbon"}, OtherArguments: map[string]any{"to": "Oslo"}}

func TestProveFindsTheFault(t *testing.T) {
	hold := func(ctx context.Context, w *mrtrtest.World, c *mrtr.Call) error {
		_, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (bool, error) {
			w.Effect("hold")
			return true, nil
		})
		return err
	}
	cases := []struct {
		explanation string
		build       mrtrtest.Build
		failed      []string
		detail      string // of the last of them
	}{
		{"a sound tool", guarded(t, hold), nil, ""},
		{"a sound tool without the engine", careful(nil), nil, ""},
		{"it fires in each round", guarded(t, func(_ context.Context, w *mrtrtest.World, _ *mrtr.Call) error {
			w.Effect("hold")
			return nil
		}), []string{"once/honest"}, `"hold" happened twice instead of once`},
		{"it forgets a done step where another instance goes on", inMemory(t), []string{"once/elsewhere"}, `"hold" happened twice instead of once`},
		{"it leaves a goroutine", guarded(t, func(ctx context.Context, w *mrtrtest.World, c *mrtr.Call) error {
			never := make(chan struct{})
			go func() { <-never }()
			return hold(ctx, w, c)
		}), []string{"server/leaves-nothing", "instance/leaks"}, "chan receive in provetest_test.TestProveFindsTheFault"},
		{"it hangs where the user declines", careful(func(ctx context.Context, answer *mcp.ElicitResult) {
			if answer != nil && answer.Action == "decline" {
				<-ctx.Done()
			}
		}), []string{"consent/declined"}, "no answer"},
		{"it never returns where the user cancels", careful(func(_ context.Context, answer *mcp.ElicitResult) {
			if answer != nil && answer.Action == "cancel" {
				select {}
			}
		}), []string{"consent/declined", "instance/stops", "instance/leaks"}, "select (no cases) in"},
		{"it panics where the answer has no content", careful(func(_ context.Context, answer *mcp.ElicitResult) {
			if answer != nil && answer.Action == "accept" {
				_ = answer.Content["seat"].(string)
			}
		}), []string{"answer/invalid", "answer/against-schema"}, "(provetest_test.go:"},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			t.Parallel()
			report := provetest.Examine(t, c.build, bookDinner, by(c.failed...))
			condemned := failed(report)
			require.Equal(t, c.failed, condemned, "%s", report)
			if c.failed != nil {
				last, _ := report.Of(c.failed[len(c.failed)-1])
				require.Contains(t, last.Detail, c.detail)
			}
		})
	}
}

// careful is the desk, with a fault where the answer comes in.
func careful(fault func(ctx context.Context, answer *mcp.ElicitResult)) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		d := &desk{key: w.Key(), charge: func() { w.Effect("charge") }}
		server := d.server()
		if fault != nil {
			mcp.AddTool(server, &mcp.Tool{Name: "book"}, func(ctx context.Context, req *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, booking, error) {
				answer, _ := req.Params.InputResponses["seat"].(*mcp.ElicitResult)
				fault(ctx, answer)
				return d.book(ctx, req, in)
			})
		}
		return server
	}
}

// inMemory remembers in its process, and not in the state, that it has held a seat.
func inMemory(t *testing.T) mrtrtest.Build {
	var mu sync.Mutex
	held := map[*mrtrtest.World]map[string]bool{}
	return guarded(t, func(ctx context.Context, w *mrtrtest.World, c *mrtr.Call) error {
		mu.Lock()
		if held[w] == nil {
			held[w] = map[string]bool{}
		}
		done := held[w][c.ID()]
		held[w][c.ID()] = true
		mu.Unlock()
		if !done {
			w.Effect("hold")
		}
		return nil
	})
}

// A tool that undoes its effect for a user who declines has had none, and a test of one
// call sees both.
func TestAnEffectThatIsUndone(t *testing.T) {
	build := guarded(t, func(ctx context.Context, w *mrtrtest.World, c *mrtr.Call) error {
		_, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (bool, error) {
			w.Effect("hold")
			return true, nil
		})
		return err
	}, func(w *mrtrtest.World) mrtr.Undoing {
		return mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[bool]) error {
			w.Undo("hold")
			return nil
		})
	})
	report := provetest.Examine(t, build, bookDinner, &prove.Options{Only: []string{"once/honest", "consent/declined"}})
	require.Empty(t, failed(report), "%s", report)
	found, _ := report.Of("consent/declined")
	require.Equal(t, prove.Pass, found.Outcome, "%s", report)
	for _, era := range []mrtrtest.Era{mrtrtest.Modern, mrtrtest.Legacy} {
		out := mrtrtest.Call(t, build, mrtrtest.Script{Tool: "book", Arguments: trip{"Lisbon"}, Answers: mrtrtest.Answers{
			"seat": {mrtrtest.Value("window")}, "meal": {mrtrtest.Decline},
		}}, &mrtrtest.Options{Era: era})
		out.WantEffects(t, "hold", "undo hold")
		require.Contains(t, out.Transcript(), "-- effect undo hold --")
	}
}

// Two runs give the same report, also of goroutines and of panics. They may differ in the
// number of calls: a server that dies does so before a concurrent request is sent, or after.
func TestProveTwice(t *testing.T) {
	for _, c := range []struct {
		build    mrtrtest.Build
		scenario prove.Scenario
	}{
		{byHand, bookDinner},
		{weather(t, options.All[6]), springfield},
		{weather(t, landmine.All[0]), springfield},
		{careful(func(_ context.Context, answer *mcp.ElicitResult) {
			go func() { select {} }()
			if answer != nil {
				_ = answer.Content["seat"].(string)
			}
		}), bookDinner},
	} {
		only := by("answer/against-schema", "answer/invalid", "once/honest", "server/leaves-nothing")
		examine := func() string {
			report := provetest.Examine(t, c.build, c.scenario, only)
			require.NotZero(t, report.Calls)
			report.Calls = 0
			return report.String()
		}
		require.Equal(t, examine(), examine())
	}
}

// A proof that cannot go on ends at once, and says why: here the effect of a dead
// process holds the lock that the next one needs.
func TestProveSaysWhyItIsStuck(t *testing.T) {
	t.Parallel() // it waits by the clock on the wall
	if os.Getenv("PROVETEST_CHILD") == "1" {
		provetest.LookEvery(100 * time.Millisecond)
		var mu sync.Mutex
		provetest.Prove(t, guarded(t, func(_ context.Context, w *mrtrtest.World, _ *mrtr.Call) error {
			mu.Lock()
			defer mu.Unlock()
			w.Effect("hold")
			return nil
		}), bookDinner)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestProveSaysWhyItIsStuck$")
	cmd.Env = append(os.Environ(), "PROVETEST_CHILD=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the proof is stuck")
	require.Regexp(t, `sync\.Mutex\.Lock in provetest_test\.TestProveSaysWhyItIsStuck\.\S* \(provetest_test\.go:\d+\)`, string(out))
}

// A rule that fails is a subtest that fails, and shows its promise and the request.
func TestProveFailsTheTest(t *testing.T) {
	if os.Getenv("PROVETEST_CHILD") == "1" {
		provetest.Prove(t, byHand, bookDinner)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestProveFailsTheTest$", "-test.v")
	cmd.Env = append(os.Environ(), "PROVETEST_CHILD=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	for _, part := range []string{
		"--- FAIL: TestProveFailsTheTest/client/undeclared",
		"it asks a client that declared nothing",
		`request: {"arguments":{"to":"Lisbon"},"name":"book"}`,
		"--- PASS: TestProveFailsTheTest/once/honest",
		"--- SKIP: TestProveFailsTheTest/state/altered",
		`note once/again promise "charge" happened twice instead of once for one yes`,
	} {
		require.Contains(t, strings.Join(strings.Fields(string(out)), " "), part)
	}
}

// A finding that a field of the scenario would settle names the field.
func TestAFindingNamesTheField(t *testing.T) {
	eager := serve(func(w *mrtrtest.World) mcp.ToolHandlerFor[trip, booking] {
		return bookFor(func() { w.Effect("charge"); w.Effect("charge") })
	})
	asksNothing := serve(func(*mrtrtest.World) mcp.ToolHandlerFor[trip, booking] {
		return func(context.Context, *mcp.CallToolRequest, trip) (*mcp.CallToolResult, booking, error) {
			return nil, booking{}, nil
		}
	})
	toLisbon := map[string]any{"to": "Lisbon"}
	cases := []struct {
		build    mrtrtest.Build
		scenario prove.Scenario
		says     []string
	}{
		{newDesk, prove.Scenario{Tool: "book", Arguments: toLisbon}, []string{"needs other arguments Set Scenario.OtherArguments.", "needs another tool Set Scenario.OtherTool."}},
		{eager, prove.Scenario{Tool: "book", Arguments: toLisbon}, []string{"Set Scenario.Times, if a call means to."}},
		{serve(func(*mrtrtest.World) mcp.ToolHandlerFor[trip, booking] { return bookFor(func() {}) }), prove.Scenario{Tool: "book", Arguments: toLisbon}, []string{"Set Scenario.Times, and call World.Effect."}},
		{byHand, prove.Scenario{Tool: "book", Arguments: map[string]any{"to": 7}}, []string{"does not complete", "Set Scenario.Arguments and Answers."}},
		{asksNothing, prove.Scenario{Tool: "book", Arguments: toLisbon}, []string{"Set Scenario.Arguments with which it asks."}},
	}
	if os.Getenv("PROVETEST_CHILD") == "1" {
		for _, c := range cases {
			t.Run("case", func(t *testing.T) { provetest.Prove(t, c.build, c.scenario) })
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestAFindingNamesTheField$", "-test.v")
	cmd.Env = append(os.Environ(), "PROVETEST_CHILD=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.NotEmpty(t, cases)
	for _, c := range cases {
		for _, part := range c.says {
			require.Contains(t, strings.Join(strings.Fields(string(out)), " "), part)
		}
	}
}

// The page shows a failure as it is printed; -update writes it anew.
func TestTheDocsShowAFailure(t *testing.T) {
	const page = "../../docs/testing.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	report := provetest.Examine(t, byHand, bookDinner, &prove.Options{Only: []string{"answer/against-schema"}})
	found, ok := report.Of("answer/against-schema")
	require.True(t, ok)
	block := regexp.MustCompile("(?s)(<!-- failure:begin -->\n```text\n).*?(```\n<!-- failure:end -->)")
	require.True(t, block.Match(text))
	got := block.ReplaceAllStringFunc(string(text), func(old string) string {
		parts := block.FindStringSubmatch(old)
		return parts[1] + found.String() + "\n" + parts[2]
	})
	mrtrtest.Golden(t, page, got)
}

// A crash ends the process in the middle of the effect: nothing below it runs. A
// tool that notes the effect afterwards has not noted it then.
func TestProveTheCrash(t *testing.T) {
	build := func(charge func(effect func(), l *ledger, state string)) mrtrtest.Build {
		return func(w *mrtrtest.World) *mcp.Server {
			l := mrtrtest.Shared(w, "ledger", func() *ledger { return &ledger{noted: map[string]bool{}} })
			d := &desk{key: w.Key(), charge: func() {}}
			server := d.server()
			mcp.AddTool(server, &mcp.Tool{Name: "book"}, func(ctx context.Context, req *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, booking, error) {
				res, out, err := d.book(ctx, req, in)
				if strings.HasPrefix(out.Text, "Booked") {
					charge(func() { w.Effect("charge") }, l, req.Params.RequestState)
				}
				return res, out, err
			})
			return server
		}
	}
	before := build(func(effect func(), l *ledger, state string) {
		if l.note(state) {
			effect()
		}
	})
	after := build(func(effect func(), l *ledger, state string) {
		if !l.has(state) {
			effect()
			l.note(state)
		}
	})
	once := bookDinner
	once.Repeatable = false
	notedBefore := provetest.Examine(t, before, once, by("once"))
	require.Empty(t, failed(notedBefore), "%s", notedBefore)
	notedAfter := provetest.Examine(t, after, once, by("once"))
	require.Contains(t, failed(notedAfter), "once/crash", "%s", notedAfter)
	require.NotContains(t, failed(notedAfter), "once/again", "%s", notedAfter)
}

// ledger is a database that the instances of a deployment share.
type ledger struct {
	mu    sync.Mutex
	noted map[string]bool
}

func (l *ledger) note(key string) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.noted[key]
	l.noted[key] = true
	return first
}

func (l *ledger) has(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.noted[key]
}

// Where equal calls are one while they wait, an honest call may go on with one that an earlier probe left
// waiting. Its effect above the first question has happened then, and is not missed.
func TestAnEffectAboveTheFirstQuestionWithAStore(t *testing.T) {
	build := func(w *mrtrtest.World) *mcp.Server {
		key, err := statecodec.NewKey(w.Key())
		require.NoError(t, err)
		rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}, Durable: durable.In(w.Store(), nil)})
		require.NoError(t, err)
		w.Cleanup(func() { require.NoError(t, rt.Close()) })
		effect := func(name string) mrtr.Act {
			return func(context.Context, string) error { w.Effect(name); return nil }
		}
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
		mrtr.Add(server, rt, &mcp.Tool{Name: "order"}, linear.Journal(func(ctx context.Context, c *mrtr.Call, in trip) (booking, error) {
			if err := mrtr.Do(ctx, c, "reserve", effect("reserve")); err != nil {
				return booking{}, err
			}
			seat, err := linear.Ask(ctx, c, mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...))
			if err != nil {
				return booking{}, err
			}
			return booking{Text: in.To + " " + seat}, mrtr.Do(ctx, c, "charge", effect("charge"))
		}))
		return server
	}
	s := prove.Scenario{Tool: "order", Arguments: map[string]any{"to": "Rome"}, OtherArguments: map[string]any{"to": "Oslo"}, Times: map[string]int{"reserve": 1, "charge": 1}}
	require.Empty(t, failed(provetest.Examine(t, build, s, &prove.Options{Only: []string{"once/honest", "server/alive"}})))
}

package tasks_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

type trip struct {
	To string `json:"to"`
}

type plan struct {
	Plan string `json:"plan"`
}

// tried reports whether the nth setting of a long table is played here: one in five is, and
// in CI all are.
func tried(n int) bool { return n%5 == 0 || os.Getenv("MRTR_NIGHTLY") == "1" }

// TestMain collects garbage rarely: go-sdk leaves 32 KiB of it for each message.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// ledger lists the effects that happened.
type ledger struct {
	mu  sync.Mutex
	did []string
	at  func(ctx context.Context) // called where the handler works, nil for nothing
	in  func(ctx context.Context) // called in each effect, nil for nothing
}

func (l *ledger) note(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.did = append(l.did, what)
}

func (l *ledger) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.did, " ")
}

// take is all, and begins anew.
func (l *ledger) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	did := strings.Join(l.did, " ")
	l.did = nil
	return did
}

// work is code of the handler's outside effects that heeds its context.
func (l *ledger) work(ctx context.Context) error {
	if l.at != nil {
		l.at(ctx)
	}
	return ctx.Err()
}

func (l *ledger) do(what string) func(context.Context, string) (string, error) {
	return func(ctx context.Context, _ string) (string, error) {
		l.note(what)
		if l.in != nil {
			l.in(ctx)
		}
		return what, nil
	}
}

func (l *ledger) undo(what string) mrtr.Undoing {
	return mrtr.UndoOf(what, func(context.Context, *mrtr.Call, mrtr.Undo[string]) error {
		l.note("un" + what)
		return nil
	})
}

var (
	seat = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)
	meal = mrtr.Choose("meal", "Which meal?", mrtr.Choices("fish", "pasta")...).Meta(mcp.Meta{"example.org/icon": "plate"})
)

// styleNames are those of the tool, which holds a seat, asks for the seat, works, asks for
// the meal, and sells the ticket. Only "given" asks everything before its handler is entered.
// With the suffix late it holds the seat that was chosen, in the round in which it works.
var styleNames = []string{"native", "once", "steps", "coroutine", "journal", "resumable", "given"}

const late = " late"

func (l *ledger) style(name string) (_ mrtr.Style[trip, plan], again bool) {
	name, holdsLate := strings.CutSuffix(name, late)
	hold := func(ctx context.Context, c *mrtr.Call) error {
		_, err := mrtr.Once(ctx, c, "hold", l.do("hold"))
		return err
	}
	booked := func(in trip, chosen, dish string) plan { return plan{"to " + in.To + ": " + chosen + ", " + dish} }
	guarded := func(ctx context.Context, c *mrtr.Call, in trip) (*mrtr.IncompleteResult, plan, error) {
		if !holdsLate {
			if err := hold(ctx, c); err != nil {
				return nil, plan{}, err
			}
		}
		chosen, ok := mrtr.Answer(c, seat)
		if !ok {
			return mrtr.Need(seat), plan{}, nil
		}
		if holdsLate {
			if err := hold(ctx, c); err != nil {
				return nil, plan{}, err
			}
		}
		if err := l.work(ctx); err != nil {
			return nil, plan{}, err
		}
		dish, ok := mrtr.Answer(c, meal)
		if !ok {
			return mrtr.Need(meal), plan{}, nil
		}
		if _, err := mrtr.Once(ctx, c, "ticket", l.do("ticket")); err != nil {
			return nil, plan{}, err
		}
		return nil, booked(in, chosen, dish), nil
	}
	top := func(ctx context.Context, c *mrtr.Call, in trip) (plan, error) {
		if !holdsLate {
			if err := hold(ctx, c); err != nil {
				return plan{}, err
			}
		}
		chosen, err := linear.Ask(ctx, c, seat)
		if err != nil {
			return plan{}, err
		}
		if holdsLate {
			if err := hold(ctx, c); err != nil {
				return plan{}, err
			}
		}
		if err := l.work(ctx); err != nil {
			return plan{}, err
		}
		dish, err := linear.Ask(ctx, c, meal)
		if err != nil {
			return plan{}, err
		}
		if _, err := mrtr.Once(ctx, c, "ticket", l.do("ticket")); err != nil {
			return plan{}, err
		}
		return booked(in, chosen, dish), nil
	}
	switch name {
	case "native":
		return mrtr.Native(guarded).OnStop(l.undo("hold")), false
	case "once":
		return mrtr.Native(guarded).OnStop(l.undo("hold")), true
	case "coroutine":
		return linear.Coroutine(top).OnStop(l.undo("hold")), false
	case "journal":
		return linear.Journal(top).OnStop(l.undo("hold")), false
	case "resumable":
		return linear.Resumable(top).OnStop(l.undo("hold")), false
	case "given":
		return given.Handler2(given.Always[trip](seat), given.Always[trip](meal),
			func(ctx context.Context, c *mrtr.Call, in trip, chosen, dish string) (plan, error) {
				for _, effect := range []string{"hold", "ticket"} {
					if _, err := mrtr.Once(ctx, c, effect, l.do(effect)); err != nil {
						return plan{}, err
					}
					if err := l.work(ctx); err != nil {
						return plan{}, err
					}
				}
				return booked(in, chosen, dish), nil
			}).OnStop(l.undo("hold"), l.undo("ticket")), true
	}
	var b steps.List[trip, plan]
	do := func(what string) {
		steps.Do(&b, what, func(ctx context.Context, _ *steps.At[trip], idem string) (string, error) {
			return l.do(what)(ctx, idem)
		})
	}
	if !holdsLate {
		do("hold")
	}
	chosen := steps.Always(&b, seat)
	if holdsLate {
		do("hold")
	}
	dish := steps.Ask(&b, "meal", func(ctx context.Context, _ *steps.At[trip]) (mrtr.Question[string], error) {
		return meal, l.work(ctx)
	})
	do("ticket")
	b.End(func(_ context.Context, at *steps.At[trip]) (plan, error) {
		return booked(at.In, chosen.Of(at), dish.Of(at)), nil
	})
	return b.MustBuild().OnStop(l.undo("hold")), false
}

// plain is the tool as go-sdk alone has it, which keeps its own state and no notes.
func (l *ledger) plain(holdsLate bool) mcp.ToolHandler {
	asks := func(state string, q mrtr.Question[string]) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{q.Key(): &mcp.ElicitParams{
			Message: q.Key(), RequestedSchema: json.RawMessage(`{"type":"object","properties":{"` + q.Key() + `":{"type":"string"}}}`),
		}}}, nil
	}
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		state := req.Params.RequestState
		if state == map[bool]string{false: "", true: "seat"}[holdsLate] {
			_, _ = l.do("hold")(ctx, "")
		}
		switch state {
		case "":
			return asks("seat", seat)
		case "seat":
			return asks("meal", meal)
		}
		_, _ = l.do("ticket")(ctx, "")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "to Lisbon: window, fish"}}}, nil
	}
}

// site is one instance of a server with the tool.
type site struct {
	server  *mcp.Server
	rt      *mrtr.Runtime
	manager *tasks.Manager
	did     *ledger
}

// setting is how a site is set up.
type setting struct {
	style   string
	records store.Store // nil for none
	keys    []statecodec.Key
	policy  mrtr.TaskPolicy
	options tasks.Options
	sender  func(context.Context, mcp.Request) (string, error)
	narrow  func(mcp.Implementation, era.Client) era.Client
	needs   []mrtr.AnyQuestion
	did     *ledger
	// boundary is when one is installed, "" for never.
	boundary string
}

// The times of a boundary: before the tasks, so that it is inside them, after, or both.
const before, after, both = "before", "after", "both"

func newSite(t testing.TB, s setting) *site {
	t.Helper()
	here := &site{did: s.did}
	if here.did == nil {
		here.did = &ledger{}
	}
	o := &mrtr.Options{Principal: s.sender, Narrow: s.narrow}
	if s.records != nil {
		o.Durable = durable.In(s.records, nil)
	}
	if s.keys != nil {
		o.State = &statecodec.Options{Keys: s.keys}
	}
	var err error
	here.rt, err = mrtr.New(o)
	require.NoError(t, err)
	here.server = mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	if when, plain := strings.CutPrefix(s.style, "plain"); plain {
		here.server.AddTool(&mcp.Tool{Name: "book", InputSchema: json.RawMessage(`{"type":"object"}`)}, here.did.plain(when == late))
		s.options.Policy = map[string]tasks.Policy{"book": {AtOnce: true}}
	} else {
		style, again := here.did.style(s.style)
		mrtr.AddTool(here.server, &mcp.Tool{Name: "book"}, mrtr.Tool(here.rt, style, &mrtr.HandlerOptions{Task: s.policy, RunAgain: again, Name: "book", Needs: s.needs}))
	}
	s.options.Runtime = here.rt
	bounded := func(when string) {
		if s.boundary == when || s.boundary == both {
			require.NoError(t, boundary.Install(here.server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
		}
	}
	bounded(before)
	here.manager, err = tasks.Install(here.server, &s.options)
	require.NoError(t, err)
	bounded(after)
	t.Cleanup(func() {
		require.NoError(t, here.manager.Close())
		require.NoError(t, here.rt.Close())
	})
	return here
}

// machine is a memory store that several runtimes may share as several processes would.
type machine struct{ *store.Memory }

func (machine) Scope() store.Scope { return store.Machine }

var atOnce = mrtr.TaskPolicy{AtOnce: true}

const takesTasks wire.Capabilities = `{"elicitation":{"form":{}},"extensions":{"` + tasks.Extension + `":{}}}`

// client is a raw client that takes tasks: go-sdk's cannot receive one.
type client struct {
	testing.TB
	*wire.Client
}

func connect(t testing.TB, server *mcp.Server) client {
	return connectWith(t, server, wire.Options{})
}

func connectWith(t testing.TB, server *mcp.Server, o wire.Options) client {
	t.Helper()
	o.Capabilities = cmp.Or(o.Capabilities, takesTasks)
	c, err := wire.Connect(context.Background(), server, &o)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return client{t, c}
}

// seen is a task as its client sees it, or a call that is none.
type seen struct {
	ResultType    string
	TaskID        string
	Status        string
	StatusMessage string
	TTLMs         int64
	InputRequests map[string]struct {
		Method string
		Params struct {
			Message         string
			RequestedSchema json.RawMessage
		}
	}
	RequestState string
	Result       json.RawMessage
	Error        *jsonrpc.Error
	raw          json.RawMessage
}

func (s seen) keys() []string { return slices.Sorted(maps.Keys(s.InputRequests)) }

// send sends one request.
func (c client) send(method string, params map[string]any) (s seen, failed *jsonrpc.Error) {
	c.Helper()
	params["_meta"] = c.Meta()
	res, err := c.Exchange(context.Background(), wire.Request{Method: method, Params: params})
	require.NoError(c, err)
	if res.Error != nil {
		require.ErrorAs(c, res.Error, &failed)
		return s, failed
	}
	require.NoError(c, json.Unmarshal(res.Result, &s), string(res.Result))
	s.raw = res.Result
	return s, nil
}

func (c client) must(method string, params map[string]any) seen {
	c.Helper()
	s, failed := c.send(method, params)
	require.Nil(c, failed, "%v", failed)
	return s
}

func (c client) call() seen {
	c.Helper()
	return c.must("tools/call", map[string]any{"name": "book", "arguments": trip{"Lisbon"}})
}

func (c client) get(id string) seen {
	c.Helper()
	return c.must("tasks/get", map[string]any{"taskId": id})
}

func (c client) update(id string, answers map[string]any) {
	c.Helper()
	require.Equal(c, "complete", c.must("tasks/update", map[string]any{"taskId": id, "inputResponses": answers}).ResultType)
}

func (c client) cancel(id string) {
	c.Helper()
	require.Equal(c, "complete", c.must("tasks/cancel", map[string]any{"taskId": id}).ResultType)
}

// settle polls until the task waits or has ended.
func (c client) settle(id string) seen {
	c.Helper()
	end := time.Now().Add(30 * time.Second)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if s := c.get(id); s.Status != "working" {
			return s
		}
		require.True(c, time.Now().Before(end), "the task neither asks nor ends")
		time.Sleep(pause)
	}
}

func accept(property, value string) map[string]any {
	return map[string]any{"action": "accept", "content": map[string]any{property: value}}
}

var answers = map[string]string{"seat": "window", "meal": "fish"}

// answer answers the questions of a task, by the keys that they have for its handler.
func (c client) answer(s seen) {
	c.Helper()
	responses := map[string]any{}
	for key := range s.InputRequests {
		own, _, _ := strings.Cut(key, "-")
		responses[key] = accept(own, answers[own])
	}
	require.NotEmpty(c, responses)
	c.update(s.TaskID, responses)
}

// finish answers everything until the task has ended.
func (c client) finish(id string) seen {
	c.Helper()
	s := c.settle(id)
	for s.Status == "input_required" {
		c.answer(s)
		s = c.settle(id)
	}
	return s
}

package options_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/contract"
)

// TestMain collects garbage rarely: go-sdk leaves 32 KiB of it for each message.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// bounded is the subject with a boundary around its server, which logs.
func bounded(s mrtrtest.Subject, log io.Writer) mrtrtest.Subject {
	build := s.Build
	s.Build = func(w *mrtrtest.World) *mcp.Server {
		server := build(w)
		if err := boundary.Install(server, &boundary.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}); err != nil {
			panic(err)
		}
		return server
	}
	return s
}

// A boundary around the styles changes two things on the wire and nothing else,
// byte for byte but for ids and states:
//
//   - every complete result and every error result has the boundary's key in its
//     _meta;
//   - an error result whose error has hints ends in a text block with them.
//
// Questions, refusals and requests are unchanged.
func TestBoundaryChangesNothingButMeta(t *testing.T) {
	thorough := os.Getenv("MRTR_NIGHTLY") == "1" // else each style plays a third of the contracts
	full := contract.Styles(contract.AskingLegacy...)
	defaults := []mrtrtest.Contract{contract.ModernContracts()[0], contract.ModernContracts()[10]} // Lisbon and Springfield
	var messages, reports, hints int
	for _, group := range []struct {
		subjects  []mrtrtest.Subject
		contracts []mrtrtest.Contract
		in        *mrtrtest.Options
	}{
		{contract.AllStyles(), contract.ModernContracts(), contract.OneInstance},
		{contract.Styles("native", "once", "steps", "journal"), contract.ModernContracts(), contract.Fresh},
		{full, contract.LegacyContracts(), contract.Legacy},
		{contract.Styles("native"), defaults, contract.Legacy},
		{contract.AllStyles(), defaults, contract.SilentModern},
		{contract.AllStyles(), defaults, contract.SilentLegacy},
		{contract.AllStyles(), defaults, contract.NegotiatedDown},
	} {
		for i, s := range group.subjects {
			t.Run(group.in.String()+"/"+s.Name, func(t *testing.T) {
				for j, c := range group.contracts {
					if !thorough && len(group.contracts) > len(defaults) && (i+j)%3 > 0 {
						continue
					}
					bare, err := mrtrtest.Play(t.Context(), s.Build, c.Script, group.in)
					require.NoError(t, err)
					var log bytes.Buffer
					within, err := mrtrtest.Play(t.Context(), bounded(s, &log).Build, c.Script, group.in)
					require.NoError(t, err)
					require.NotContains(t, log.String(), "level=ERROR", "a client's refusal or its user's is nobody's mistake: %s", c.Name)
					require.Equal(t, bare.Effects, within.Effects, c.Name)
					require.Len(t, within.Messages, len(bare.Messages), c.Name)
					for i, message := range within.Messages {
						plain, report := boundedWithout(t, message)
						want, none := boundedWithout(t, bare.Messages[i])
						require.Nil(t, none)
						require.Equal(t, want, plain, "%s, message %d", c.Name, i+1)
						require.Equal(t, boundedFinal(t, message), report != nil, "%s, message %d: %s", c.Name, i+1, message)
						messages++
						if report != nil {
							reports++
							hints += min(1, len(report.Hints))
						}
					}
				}
			})
		}
	}
	t.Logf("%d messages are the same but for the boundary's _meta on %d results and the hints of %d errors", messages, reports, hints)
	require.NotZero(t, reports)
	require.NotZero(t, hints)
}

// boundedWithout is the message without the boundary's additions, and its report. It
// sorts the members of the result and of its _meta; their bytes stay.
func boundedWithout(t *testing.T, recorded string) (string, *boundary.Report) {
	t.Helper()
	direction, text, _ := strings.Cut(recorded, ": ")
	var message, result, meta map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &message))
	if message["result"] == nil {
		return recorded, nil
	}
	require.NoError(t, json.Unmarshal(message["result"], &result))
	if result["_meta"] != nil {
		require.NoError(t, json.Unmarshal(result["_meta"], &meta))
	}
	if meta[boundary.MetaKey] == nil {
		message["result"] = boundedJSON(t, result)
		return direction + ": " + string(boundedJSON(t, message)), nil
	}
	var report boundary.Report
	require.NoError(t, json.Unmarshal(meta[boundary.MetaKey], &report))
	require.Equal(t, "weather", report.Tool)
	require.NotEmpty(t, report.RequestID)
	delete(meta, boundary.MetaKey)
	result["_meta"] = boundedJSON(t, meta)
	if len(meta) == 0 {
		delete(result, "_meta")
	}
	if len(report.Hints) > 0 {
		var blocks []json.RawMessage
		require.NoError(t, json.Unmarshal(result["content"], &blocks))
		last := len(blocks) - 1
		require.JSONEq(t, string(boundedJSON(t, map[string]string{"type": "text", "text": strings.Join(report.Hints, "\n")})), string(blocks[last]))
		result["content"] = boundedJSON(t, blocks[:last])
	}
	message["result"] = boundedJSON(t, result)
	return direction + ": " + string(boundedJSON(t, message)), &report
}

// boundedFinal reports whether the message is a tool's result that asks nothing.
func boundedFinal(t *testing.T, recorded string) bool {
	t.Helper()
	direction, text, _ := strings.Cut(recorded, ": ")
	var message struct{ Result map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(text), &message))
	return direction == "server" && message.Result["content"] != nil && message.Result["inputRequests"] == nil
}

func boundedJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

// boundedLog keeps the records of a boundary.
type boundedLog struct{ buf bytes.Buffer }

// take returns the records since the last take. The calls that wrote them are over.
func (l *boundedLog) take(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for dec := json.NewDecoder(&l.buf); dec.More(); {
		var r map[string]any
		require.NoError(t, dec.Decode(&r))
		all = append(all, r)
	}
	l.buf.Reset()
	return all
}

// boundedServer is a server with a boundary and the tools that add adds. It returns
// the boundary's log too, in which the engine's events are as well where observed is set.
func boundedServer(t *testing.T, observed bool, add func(*mrtr.Runtime, *mcp.Server)) (*mcp.Server, *boundedLog) {
	t.Helper()
	log := &boundedLog{}
	logger, opts := slog.New(slog.NewJSONHandler(&log.buf, nil)), &mrtr.Options{}
	if observed {
		opts.Listener = observe.With(observe.Log(logger))
	}
	rt, err := mrtr.New(contract.OnForcedStore(opts))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	add(rt, server)
	require.NoError(t, boundary.Install(server, &boundary.Options{Logger: logger}))
	return server, log
}

func boundedClient(t *testing.T, server *mcp.Server, era judge.Era) *wire.Client {
	t.Helper()
	opts := &wire.Options{}
	if era == judge.Legacy {
		opts.Version = wire.Legacy
	}
	client, err := wire.Connect(t.Context(), server, opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func boundedReport(t *testing.T, reply wire.Reply) boundary.Report {
	t.Helper()
	var result struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var report boundary.Report
	require.NoError(t, json.Unmarshal(reply.Result, &result))
	require.NoError(t, json.Unmarshal(result.Meta[boundary.MetaKey], &report), string(reply.Result))
	return report
}

// Wherever an author's code panics or exits inside the engine, every request is
// answered once, the call ends in a well-formed error result that reports its
// effects as far as they are known, the fault is one ERROR record, which the boundary
// writes, and the next call works.
func TestBoundaryAroundTheEngine(t *testing.T) {
	require.NotEmpty(t, boundedPlaces)
	for _, place := range boundedPlaces {
		for way, there := range boundedWays {
			t.Run(place.name+"/"+way, func(t *testing.T) {
				server, log := boundedServer(t, true, func(rt *mrtr.Runtime, s *mcp.Server) {
					mrtr.AddTool(s, &mcp.Tool{Name: "t"}, mrtr.Tool(rt, place.style(there), nil))
					mrtr.AddTool(s, &mcp.Tool{Name: "healthy"}, mrtr.Tool(rt, boundedGuarded(nil, nil), nil))
				})
				client := boundedClient(t, server, judge.Modern)
				script := wire.Answers{"units": wire.Value("metric")}
				out, err := client.Call(t.Context(), "t", nil, script)
				require.NoError(t, err)
				require.Nil(t, out.Error)
				outcome, err := judge.Answer(judge.Modern, &jsonrpc.Response{Result: out.Result}, nil)
				require.NoError(t, err)
				require.Equal(t, judge.ErrorResult, outcome)
				report := boundedReport(t, out.Reply)
				require.False(t, *report.Expected)
				require.Equal(t, place.effect, report.Effect)
				require.NotContains(t, out.Text, "boom")
				const here = "boundary_test.go"
				said, where := "", 0
				for _, r := range log.take(t) {
					if strings.Contains(fmt.Sprint(r), here) {
						where++
					}
					if r["level"] == "ERROR" {
						require.Empty(t, said, "a second record of the fault")
						said = fmt.Sprint(r["cause"], r["stack"])
					}
				}
				if way == "Goexit" {
					require.Contains(t, said, "runtime.Goexit")
				} else {
					require.Contains(t, said, here, "the log says where")
					require.Equal(t, 1, where, "and says it once")
				}

				out, err = client.Call(t.Context(), "healthy", nil, script)
				require.NoError(t, err)
				require.JSONEq(t, `{"units":"metric"}`, string(out.Structured))
				require.Equal(t, client.Requests("tools/call"), boundedAnswers(t, client))
			})
		}
	}
}

// boundedAnswers counts the answers to tools/call.
func boundedAnswers(t *testing.T, client *wire.Client) (n int) {
	t.Helper()
	calls := map[string]bool{}
	for _, sent := range client.Messages() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		require.NoError(t, json.Unmarshal(sent.JSON, &m))
		if sent.Sent && m.Method == "tools/call" {
			calls[string(m.ID)] = true
		}
		if !sent.Sent && m.Method == "" && calls[string(m.ID)] {
			n++
		}
	}
	return n
}

// A value that cannot be remembered is found after its effect has run.
func TestBoundaryTellsOfAnEffect(t *testing.T) {
	effects := map[string]string{"a value that cannot be remembered": "unknown", "an error after an effect": "applied"}
	for name, style := range map[string]boundedStyle{
		"a value that cannot be remembered": boundedGuarded(func(ctx context.Context, c *mrtr.Call) error {
			_, err := mrtr.Once(ctx, c, "effect", func(context.Context, string) (float64, error) { return math.NaN(), nil })
			return err
		}, nil),
		"an error after an effect": boundedGuarded(boundedOnce(func() {}), func(context.Context, *mrtr.Call) error {
			return &boundary.Execution{Operation: "print", Retryable: true, Expected: true}
		}),
	} {
		for _, era := range []judge.Era{judge.Modern, judge.Legacy} {
			t.Run(name+"/"+string(era), func(t *testing.T) {
				entered := 0
				server, _ := boundedServer(t, false, func(rt *mrtr.Runtime, s *mcp.Server) {
					h := mrtr.Tool(rt, style, nil)
					mrtr.AddTool(s, &mcp.Tool{Name: "t", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, boundary.Handler(
						func(ctx context.Context, req *mcp.CallToolRequest, in boundedIn) (*mcp.CallToolResult, any, error) {
							entered++
							return h(ctx, req, in)
						}, &boundary.HandlerOptions{Attempts: 3}))
				})
				client := boundedClient(t, server, era)
				out, err := client.Call(t.Context(), "t", nil, wire.Answers{"units": wire.Value("metric")})
				require.NoError(t, err)
				require.True(t, out.IsError)
				require.Equal(t, effects[name], boundedReport(t, out.Reply).Effect)
				require.Equal(t, 1, strings.Count(string(out.Result), "do not call the tool again without checking"), "said once: %s", out.Result)
				require.Equal(t, client.Requests("tools/call"), entered, "an effect is not run again")
			})
		}
	}
}

type (
	boundedIn  struct{}
	boundedOut struct {
		Units string `json:"units"`
	}
	boundedStyle = mrtr.Style[boundedIn, any]
)

type (
	boundedPart  = func(context.Context, *mrtr.Call) error
	boundedPlace struct {
		name   string
		style  func(there func()) boundedStyle
		effect string // as the error reports it
	}
)

// boundedPlaces are places where the engine calls an author's code, each in another way:
// mrtr's own tests break off in all of them. Each makes a style that asks for the units
// and calls there at its place.
var boundedPlaces = []boundedPlace{
	{"guarded, inside Once", func(there func()) boundedStyle { return boundedGuarded(boundedOnce(there), nil) }, "unknown"},
	{"coroutine, after Once", func(there func()) boundedStyle {
		return linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ boundedIn) (any, error) {
			if err := boundedOnce(func() {})(ctx, c); err != nil {
				return nil, err
			}
			units, err := linear.Ask(ctx, c, options.Units)
			there()
			return boundedOut{units}, err
		})
	}, "applied"},
	{"steps, making a question", func(there func()) boundedStyle {
		var b steps.List[boundedIn, any]
		units := steps.Ask(&b, "units", func(context.Context, *steps.At[boundedIn]) (mrtr.Question[string], error) {
			there()
			return options.Units, nil
		})
		b.End(func(_ context.Context, at *steps.At[boundedIn]) (any, error) { return boundedOut{units.Of(at)}, nil })
		return b.MustBuild()
	}, "unknown"},
	{"the output's MarshalJSON", func(there func()) boundedStyle {
		return mrtr.Native(func(_ context.Context, c *mrtr.Call, _ boundedIn) (*mrtr.IncompleteResult, any, error) {
			if _, ok := mrtr.Answer(c, options.Units); !ok {
				return mrtr.Need(options.Units), nil, nil
			}
			return nil, boundedMarshaler(there), nil
		})
	}, "unknown"},
}

// boundedWays are the ways in which code ends early.
var boundedWays = map[string]func(){
	"panic":          func() { panic("boom") },
	"panic of error": func() { panic(errors.New("boom")) },
	"Goexit":         runtime.Goexit,
}

type boundedMarshaler func()

func (m boundedMarshaler) MarshalJSON() ([]byte, error) { m(); return []byte(`{}`), nil }

func boundedOnce(f func()) boundedPart {
	return func(ctx context.Context, c *mrtr.Call) error {
		_, err := mrtr.Once(ctx, c, "effect", func(context.Context, string) (bool, error) { f(); return true, nil })
		return err
	}
}

func boundedGuarded(above, below boundedPart) boundedStyle {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ boundedIn) (*mrtr.IncompleteResult, any, error) {
		if above != nil {
			if err := above(ctx, c); err != nil {
				return nil, nil, err
			}
		}
		units, ok := mrtr.Answer(c, options.Units)
		if !ok {
			return mrtr.Need(options.Units), nil, nil
		}
		if below != nil {
			if err := below(ctx, c); err != nil {
				return nil, nil, err
			}
		}
		return nil, boundedOut{units}, nil
	})
}

package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
)

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
	rt, err := mrtr.New(OnForcedStore(opts))
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
	rows := 0
	for _, place := range boundedPlaces {
		for way, there := range boundedWays {
			for _, era := range []judge.Era{judge.Modern, judge.Legacy} {
				rows++
				t.Run(fmt.Sprintf("%s/%s/%s", place.name, way, era), func(t *testing.T) {
					server, log := boundedServer(t, true, func(rt *mrtr.Runtime, s *mcp.Server) {
						mrtr.AddTool(s, &mcp.Tool{Name: "t"}, mrtr.Tool(rt, place.style(there), nil))
						mrtr.AddTool(s, &mcp.Tool{Name: "healthy"}, mrtr.Tool(rt, boundedGuarded(nil, nil), nil))
					})
					client := boundedClient(t, server, era)
					script := wire.Answers{"units": wire.Value("metric")}
					out, err := client.Call(t.Context(), "t", nil, script)
					require.NoError(t, err)
					require.Nil(t, out.Error)
					outcome, err := judge.Answer(era, &jsonrpc.Response{Result: out.Result}, nil)
					require.NoError(t, err)
					require.Equal(t, judge.ErrorResult, outcome)
					report := boundedReport(t, out.Reply)
					require.False(t, *report.Expected)
					require.Equal(t, place.effect, report.Effect)
					require.NotContains(t, out.Text, "boom")
					said, where := "", 0
					for _, r := range log.take(t) {
						if strings.Contains(fmt.Sprint(r), "boundary_places_test.go") {
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
						require.Contains(t, said, "boundary_places_test.go", "the log says where")
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
	t.Logf("%d ways to break off inside the engine, %d well-formed error results", rows, rows)
	require.Equal(t, len(boundedPlaces)*3*2, rows)
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

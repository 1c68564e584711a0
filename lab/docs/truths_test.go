package docs_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

type said struct{ Said string }

var (
	sure  = mrtr.Confirm("sure", "Sure?")
	which = mrtr.Choose("which", "Which?", mrtr.Choices("a", "b")...)
)

// truth is a sentence of the documents: how a call ends, and what it did.
type truth struct {
	sentence string
	tool     func(done *did) mrtr.Style[struct{}, said]
	ends     string
	does     did
	fails    bool
}

// holding reserves something, and goes on.
func holding(done *did, next func(*mrtr.Call) (*mrtr.IncompleteResult, said, error)) mrtr.Style[struct{}, said] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, said, error) {
		if err := mrtr.Do(ctx, c, "hold", func(context.Context, string) error { done.add("held"); return nil }); err != nil {
			return nil, said{}, err
		}
		return next(c)
	})
}

var truths = []truth{
	{"A no below an effect undoes it, and the result says that nothing was done.", func(done *did) mrtr.Style[struct{}, said] {
		return holding(done, func(c *mrtr.Call) (*mrtr.IncompleteResult, said, error) {
			if _, ok := mrtr.Answer(c, sure); !ok {
				return mrtr.Need(sure), said{}, nil
			}
			return nil, said{}, mrtr.Stop(said{"Nothing was done."})
		}).OnStop(mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[struct{}]) error { done.add("released"); return nil }))
	}, `{"Said":"Nothing was done."}`, did{"held", "released"}, false},
	{"An error names the effects that stand.", func(done *did) mrtr.Style[struct{}, said] {
		return holding(done, func(*mrtr.Call) (*mrtr.IncompleteResult, said, error) {
			return nil, said{}, &mrtr.Error{Reason: mrtr.Declined, Detail: "The price is too high."}
		})
	}, `Stopped: The price is too high. "hold" was done: do not call the tool again without checking.`, did{"held"}, true},
	{"An effect in the guard of a question is no change of the tool, and the error says what to add.", func(done *did) mrtr.Style[struct{}, said] {
		return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, said, error) {
			if _, ok := mrtr.Answer(c, which); !ok {
				err := mrtr.Do(ctx, c, "hold", func(context.Context, string) error { done.add("held"); return nil })
				return mrtr.Need(which), said{}, err
			}
			return nil, said{"done"}, nil
		})
	}, `The tool took another way in this call than before: effect "hold" is no longer run. Add AnyAnswers to it if it stands whatever the answers are. "hold" was done: do not call the tool again without checking.`, did{"held"}, true},
	{"A question that is worded anew in every round ends its call, and its author reads why in the log.", func(done *did) mrtr.Style[struct{}, said] {
		return mrtr.Native(func(_ context.Context, c *mrtr.Call, _ struct{}) (*mrtr.IncompleteResult, said, error) {
			done.add("asked")
			anew := mrtr.Choose("which", fmt.Sprintf("Which, %d?", len(*done)), mrtr.Choices("a", "b")...)
			mrtr.Answer(c, anew)
			return mrtr.Need(anew), said{}, nil
		})
	}, "This tool has a fault: its server's log says more.", did{"asked", "asked", "asked"}, true},
	{"The value of a panic reaches the log alone.", func(done *did) mrtr.Style[struct{}, said] {
		return linear.Journal(func(context.Context, *mrtr.Call, struct{}) (said, error) { panic("the password") })
	}, "The tool failed unexpectedly.", nil, true},
}

// Each holds for a modern and a legacy client, on a bare server and behind the boundary.
func TestTheDocumentsSayWhatHappens(t *testing.T) {
	require.NotEmpty(t, truths)
	for _, tr := range truths {
		t.Run(tr.sentence, func(t *testing.T) {
			for _, version := range []string{wire.Modern, wire.Legacy} {
				for _, bounded := range []bool{false, true} {
					var done did
					rt, err := mrtr.New(nil)
					require.NoError(t, err)
					server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
					mrtr.Add(server, rt, &mcp.Tool{Name: "tool"}, tr.tool(&done))
					if bounded {
						require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
					}
					client, err := wire.Connect(t.Context(), server, &wire.Options{Version: version})
					require.NoError(t, err)
					end, err := client.Call(t.Context(), "tool", struct{}{}, wire.Answers{"sure": wire.Value(false), "which": wire.Value("a")})
					require.NoError(t, err)
					require.Equal(t, []any{tr.ends, tr.fails, tr.does}, []any{end.Text, end.IsError, done}, "%s, boundary: %v", version, bounded)
					require.NoError(t, client.Close())
					require.NoError(t, rt.Close())
				}
			}
		})
	}
}

// A call that has charged in Once meets another style of its tool. One that is no guard is
// refused before its handler runs. A guard goes on: it charges again where its charge is bare,
// and the call ends only then.
func TestAStyleIsChangedUnderACall(t *testing.T) {
	charges := map[string]int{
		"once": 1, "steps": 1, "coroutine": 1, "journal": 1,
		"native": 2, "given": 2, "sse_shim": 2, "version_branch": 2, "two_handlers": 2,
	}
	require.Len(t, options.All, len(charges))
	for _, o := range options.All {
		card := &options.Card{}
		opts := &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{statecodec.GenerateKey()}}}
		serving := func(tool maker) *wire.Client {
			return connected(t, opts, func(server *mcp.Server, rt *mrtr.Runtime) {
				mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, tool(rt, card))
			})
		}
		request := wire.Request{Name: "weather", Arguments: map[string]string{"location": "Lisbon"}}
		asked, err := serving(options.Once).Send(t.Context(), request)
		require.NoError(t, err)
		require.Len(t, asked.Asks, 1)
		q := asked.Asks[0]
		request.State, request.Responses = asked.State, map[string]any{q.Key: wire.Value("metric")(q)}
		end, err := serving(o.New).Send(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, o.Name != "once", end.IsError, o.Name)
		require.Len(t, card.Charges(), charges[o.Name], o.Name)
		if end.IsError {
			require.Contains(t, end.Text, `"charge" was done: do not call the tool again without checking.`, o.Name)
		}
	}
}

// The appendix of SPEC.md has the members of a state that the engine writes, and its version.
func TestTheAppendixHasEveryMemberOfAState(t *testing.T) {
	code, err := os.ReadFile("mrtr/state.go")
	require.NoError(t, err)
	questions, err := os.ReadFile("mrtr/internal/question/pending.go")
	require.NoError(t, err)
	code = append(code, questions...)
	spec, err := os.ReadFile("statecodec/SPEC.md")
	require.NoError(t, err)
	_, appendix, found := strings.Cut(string(spec), "\n## Appendix")
	require.True(t, found)
	var written, described []string
	for _, m := range regexp.MustCompile(`w\.(?:Text|Number|Raw|Flag|List|Object)\((?:i, )?"(\w+)"|jsontext\.Begin\(b, "(\w+)"`).FindAllStringSubmatch(string(code), -1) {
		written = append(written, m[1]+m[2])
	}
	for _, m := range regexp.MustCompile("(?m)^- `(\\w+)`(?:, `(\\w+)`)?:|; `(\\w+)`: ").FindAllStringSubmatch(appendix, -1) {
		described = append(described, strings.Fields(strings.Join(m[1:], " "))...)
	}
	require.ElementsMatch(t, written, described)
	version := regexp.MustCompile(`const stateFormat = (\d+)`).FindSubmatch(code)
	require.NotNil(t, version)
	require.Contains(t, appendix, "the version of this format, `"+string(version[1])+"`")
}
